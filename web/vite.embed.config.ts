import { resolve } from 'node:path'
import { defineConfig } from 'vite'

// The embed is one classic script without imports: it runs on pages of others.
export default defineConfig({
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
    lib: {
      entry: resolve(import.meta.dirname, 'embed/main.tsx'),
      name: 'BelayEmbed',
      formats: ['iife'],
      fileName: () => 'embed.js',
    },
  },
})
