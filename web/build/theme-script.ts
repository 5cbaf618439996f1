import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const SOURCE = join(import.meta.dirname, '../public/theme.js')
/** Its address in the page, which the build has made relative by then. */
const ADDRESS = './theme.js'

/**
 * Gives the script of the theme a name with a hash of its content, as the bundle has, so that it too is kept for good: the page
 * waits for it before it draws anything.
 */
export function themeScript(): Plugin {
  let name = ''
  return {
    name: 'groundstate-theme-script',
    apply: 'build',
    async buildStart() {
      const source = await readFile(SOURCE, 'utf8')
      name = this.getFileName(this.emitFile({ type: 'asset', name: 'theme.js', source }))
    },
    transformIndexHtml(page) {
      if (!page.includes(ADDRESS)) this.error(`index.html does not load ${ADDRESS}`)
      return page.replace(ADDRESS, `./${name}`)
    },
  }
}
