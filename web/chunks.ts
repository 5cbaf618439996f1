import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

/*
 * How the build divides the application into files. By default there would be a file for each set of pages that share modules, down to single
 * icons: 50 requests for the first page.
 */

const SOURCE = join(import.meta.dirname, 'src')

type Graph = { getModuleInfo: (id: string) => { importedIds: readonly string[] } | null }

/** Loaded when the user opens a popup, edits code or reads Markdown. */
const ON_DEMAND = /\/components\/(?:[a-z]+-popup|[a-z]+-host|editor|markdown|virtual-rows)\.tsx$/
const OVERLAYS = /\/node_modules\/@(?:base-ui|floating-ui)\/|\/components\/[a-z]+-(?:popup|host)\.tsx$/
const SHARED = /\/(?:src\/(?:components|features)|contract\/src|lucide-react|@tanstack\/(?:react-table|table-core))\//
/** A module that so many pages and popups share is loaded with the others like it. */
const MIN_PAGES = 4

const isOfStart = reachedFrom('main.tsx', 'features/organizations/organization-frame.tsx')
const isOfOverview = reachedFrom('features/overview/overview-page.tsx')
const isOfFirstForms = reachedFrom(
  'features/session/sign-in-page.tsx',
  'features/overview/getting-started.tsx',
  'features/overview/sample-card.tsx',
)
const isShared = (id: string) => SHARED.test(id) && !ON_DEMAND.test(id)

export const codeSplitting = {
  includeDependenciesRecursively: false,
  groups: [
    {
      // What each page needs, except the entry, which the page names.
      name: (id: string, graph: Graph) => (isOfStart(id, graph) && !id.endsWith('/src/main.tsx') ? 'start' : null),
    },
    // Of the rest, what the first page and others need.
    { name: (id: string, graph: Graph) => (isShared(id) && isOfOverview(id, graph) ? 'kit' : null), minShareCount: 2 },
    {
      name: (id: string, graph: Graph) => (isShared(id) && isOfFirstForms(id, graph) ? 'forms' : null),
      minShareCount: 2,
    },
    { name: 'overlays', test: OVERLAYS },
    { name: 'pages', test: isShared, minShareCount: MIN_PAGES },
  ],
}

/** Whether a module is reached from one of these without a dynamic import. */
function reachedFrom(...roots: readonly string[]) {
  const reached = new Set<string>()
  return (id: string, graph: Graph) => {
    if (reached.size === 0) {
      const next = roots.map((root) => join(SOURCE, root))
      for (let at = next.pop(); at !== undefined; at = next.pop()) {
        if (reached.has(at)) continue
        reached.add(at)
        next.push(...(graph.getModuleInfo(at)?.importedIds ?? []))
      }
    }
    return reached.has(id)
  }
}

/** Imports icons from their own modules, so that the build knows which module uses which icon. */
export function iconModules(): Plugin {
  const index = createRequire(import.meta.url).resolve('lucide-react/dist/esm/lucide-react.mjs')
  const files = new Map<string, string>()
  for (const [, names = '', file = ''] of readFileSync(index, 'utf8').matchAll(
    /export \{ ([^}]+) \} from '(\.\/icons\/[^']+)'/g,
  ))
    for (const [, name = ''] of names.matchAll(/default as (\w+)/g)) files.set(name, join(dirname(index), file))
  return {
    name: 'groundstate-icon-modules',
    apply: 'build',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(SOURCE) || !code.includes("from 'lucide-react'")) return undefined
      return code.replaceAll(/^import \{([^}]+)\} from 'lucide-react'$/gm, (_, names: string) =>
        names
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '' && !name.startsWith('type '))
          .map((name) => {
            const [icon = '', local = icon] = name.split(' as ')
            return `import ${local} from ${JSON.stringify(files.get(icon) ?? this.error(`there is no icon ${icon}`))}`
          })
          .join('; '),
      )
    },
  }
}
