import { resolve } from 'node:path'
import { defineConfig } from 'vite'

// The embed is two classic scripts without imports, as they run on pages of others:
// `--mode markdown` builds the second, which is loaded when a chat is opened.
export default defineConfig(({ mode }) => ({
  resolve: {
    alias: {
      '@shared': resolve(import.meta.dirname, 'shared'),
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      react: 'preact/compat',
    },
  },
  define: { 'process.env.NODE_ENV': '"production"' },
  publicDir: false,
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    lib: {
      entry: resolve(import.meta.dirname, mode === 'markdown' ? 'embed/markdown.ts' : 'embed/main.tsx'),
      name: 'BelayEmbed',
      formats: ['iife'],
      fileName: () => (mode === 'markdown' ? 'embed-markdown.js' : 'embed.js'),
    },
  },
}))
