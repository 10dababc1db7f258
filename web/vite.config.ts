import { resolve } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// Where `npm run dev` sends what is not a page: a running `belay dev`.
const server = process.env.BELAY_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { '@shared': resolve(import.meta.dirname, 'shared') } },
  build: {
    outDir: 'dist',
    // CSP: nothing is inlined, so that pages need no data: or 'unsafe-inline'.
    assetsInlineLimit: 0,
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    sourcemap: false,
    rolldownOptions: {
      input: {
        studio: resolve(import.meta.dirname, 'index.html'),
        portal: resolve(import.meta.dirname, 'portal.html'),
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': server } },
})
