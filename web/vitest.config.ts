import { resolve } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@shared': resolve(import.meta.dirname, 'shared') } },
  test: {
    environment: 'jsdom',
    setupFiles: ['shared/testing/setup.ts'],
    include: ['{shared,studio,portal,embed}/**/*.test.{ts,tsx}'],
    restoreMocks: true,
  },
})
