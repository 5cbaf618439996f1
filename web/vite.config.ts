import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { type Plugin, defineConfig } from 'vite'
import { codeSplitting, iconModules } from './chunks.ts'
import { licences } from './licences.ts'

const SERVER = 'http://127.0.0.1:7777'

export default defineConfig({
  plugins: [iconModules(), react(), tailwindcss(), licences(), themeScript(), compress()],
  // Relative URLs: the page's <base> gives the path under which the application is served.
  base: './',
  build: {
    outDir: 'dist',
    target: 'es2022',
    // The content security policy allows no data: URLs for fonts and styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting } },
  },
  server: {
    proxy: Object.fromEntries(['/api', '/auth', '/avatars', '/oauth', '/_objects'].map((path) => [path, SERVER])),
  },
})

/** Gives the theme script, which blocks the first paint, a hashed name, so that it is cached permanently like the bundle. */
function themeScript(): Plugin {
  // Relative in the page by the time of the transformation.
  const address = './theme.js'
  let name = ''
  return {
    name: 'groundstate-theme-script',
    apply: 'build',
    async buildStart() {
      const source = await readFile(join(import.meta.dirname, 'public/theme.js'), 'utf8')
      name = this.getFileName(this.emitFile({ type: 'asset', name: 'theme.js', source }))
    },
    transformIndexHtml(page) {
      if (!page.includes(address)) this.error(`index.html does not load ${address}`)
      return page.replace(address, `./${name}`)
    },
  }
}

const TEXT = /\.(?:css|js|json|svg|txt)$/
/** Below this size (bytes), headers outweigh the savings. */
const MIN_BYTES = 512
const QUALITY = constants.BROTLI_MAX_QUALITY

/** Also writes each text file compressed with brotli and gzip, since the server compresses nothing itself. */
function compress(): Plugin {
  return {
    name: 'groundstate-compress',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const entries = await readdir(dir, { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name))
      await Promise.all(files.map(async ({ parentPath, name }) => compressFile(join(parentPath, name))))
    },
  }
}

async function compressFile(path: string) {
  const content = await readFile(path)
  if (content.length < MIN_BYTES) return
  const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then(async (bytes) => writeFile(`${path}.br`, bytes)),
    promisify(gzip)(content, { level: 9 }).then(async (bytes) => writeFile(`${path}.gz`, bytes)),
  ])
}
