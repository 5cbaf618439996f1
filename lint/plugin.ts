import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importProblem, mayHoldSql } from './order.ts'

/*
 * The oxlint rules of this repository. The plugin interface is that of ESLint; only the used part is typed here.
 */

type Node = { type: string; [field: string]: unknown }
type Context = { filename: string; report: (problem: { node: Node; message: string }) => void }
type Rule = { create: (context: Context) => Record<string, (node: never) => void> }
type Literal = Node & { value?: unknown }
type ImportNode = Node & {
  source: Literal | null
  importKind?: string
  specifiers?: (Node & { importKind?: string })[]
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const fromRoot = (path: string) => relative(ROOT, path).replaceAll('\\', '/')

/** Imports point down: to the same or a lower area, and to the same or a lower kind of file. */
const order: Rule = {
  create(context) {
    const check = (node: ImportNode) => {
      const specifier = node.source?.value
      if (typeof specifier !== 'string' || !specifier.startsWith('.')) return
      const target = fromRoot(resolve(dirname(context.filename), specifier))
      const problem = importProblem(fromRoot(context.filename), target)
      if (problem !== undefined) context.report({ node, message: problem })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    }
  },
}

/** Callers import the file that defines a name. */
const noReExport: Rule = {
  create(context) {
    const check = (node: ImportNode) => {
      if (node.source)
        context.report({ node, message: 'a re-export hides where a name is defined: import that file instead' })
    }
    return { ExportNamedDeclaration: check, ExportAllDeclaration: check }
  },
}

const BUILDERS = new Set(['selectFrom', 'insertInto', 'updateTable', 'deleteFrom', 'mergeInto'])

/** Only stores contain SQL. */
const sqlInStores: Rule = {
  create(context): Record<string, (node: never) => void> {
    if (mayHoldSql(fromRoot(context.filename))) return {}
    const message = 'SQL stands in a store (store.ts, <noun>-store.ts): give this statement a name there'
    return {
      ImportDeclaration(node: ImportNode) {
        if (node.source?.value !== 'kysely' || node.importKind === 'type') return
        if (node.specifiers?.some((specifier) => specifier.importKind !== 'type')) context.report({ node, message })
      },
      MemberExpression(node: Node & { property: Node & { name?: string } }) {
        if (BUILDERS.has(node.property.name ?? '')) context.report({ node, message })
      },
    }
  },
}

export default {
  meta: { name: 'groundstate' },
  rules: { order, 'no-re-export': noReExport, 'sql-in-stores': sqlInStores },
}
