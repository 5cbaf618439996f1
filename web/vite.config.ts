import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compress } from './build/compress.ts'
import { themeScript } from './build/theme-script.ts'

const SERVER = 'http://127.0.0.1:7777'

export default defineConfig({
  plugins: [react(), tailwindcss(), themeScript(), compress()],
  // Relative addresses: the server says in the page's <base> below which path the application is.
  base: './',
  build: {
    outDir: 'dist',
    target: 'es2022',
    // The policy allows no data: address for fonts and styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/auth', '/avatars', '/docs/api', '/oauth', '/_objects'].map((path) => [path, SERVER]),
    ),
  },
})
