import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importProblem, mayHoldSql } from './order.ts'
import { areStatusKeys, hasStatusList, isComparedList, isStatusList, mayListStatuses } from './run-statuses.ts'

/*
 * The oxlint rules of this repository. The plugin interface is that of ESLint; only the used part is typed here.
 */

type Node = { type: string; range: [number, number]; [field: string]: unknown }
type Context = {
  filename: string
  sourceCode: { getText: (node: Node) => string }
  report: (problem: { node: Node; message: string }) => void
}
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
    const message = 'SQL belongs in a store (store.ts, <name>-store.ts): name this statement there'
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

type Call = Node & { callee: Member; arguments: (Node & { name?: string; value?: unknown })[] }
type Member = Node & { property?: { name?: string }; object?: { callee?: Member } }

/** Literals and subqueries. */
const FIXED_LISTS = new Set(['ArrayExpression', 'ArrowFunctionExpression'])

/** A list of any length is one parameter of a statement: it can have at most 65,535. */
const listParameters: Rule = {
  create(context) {
    return {
      CallExpression(node: Call) {
        const {
          callee,
          arguments: [first, operator, list],
        } = node
        const isInsert = callee.property?.name === 'values' && callee.object?.callee?.property?.name === 'insertInto'
        if (isInsert && first?.type !== 'ObjectExpression' && first?.name !== 'row')
          context.report({
            node,
            message: 'insert several rows with insertRows (db/sql.ts), or name the only one `row`',
          })
        const isIn = /^(?:not )?in$/.test(String(operator?.value))
        const isFixed = FIXED_LISTS.has(list?.type ?? '') || /^[A-Z_]+$/.test(list?.name ?? '')
        if (isIn && !isFixed)
          context.report({ node, message: 'compare with a list in sql`… = any(${list})`, where it is one parameter' })
      },
    }
  },
}

/** Run statuses are listed in one table. */
const runStatuses: Rule = {
  create(context): Record<string, (node: never) => void> {
    if (mayListStatuses(fromRoot(context.filename))) return {}
    const message =
      'a list of run statuses: derive it from the table in contract/src/run-status.ts, with a property of its rows if need be'
    const report = (node: Node, isList: boolean) => {
      if (isList) context.report({ node, message })
    }
    return {
      ArrayExpression(node: Node & { elements: (Node | null)[] }) {
        report(node, isStatusList(node.elements.map(textOf)))
      },
      TSUnionType(node: Node & { types: (Node & { literal?: Node })[] }) {
        report(node, isStatusList(node.types.map(({ literal }) => textOf(literal))))
      },
      ObjectExpression(node: Node & { properties: (Node & { key?: Node & { name?: string } })[] }) {
        report(node, areStatusKeys(node.properties.map(({ key }) => key?.name ?? textOf(key))))
      },
      LogicalExpression(node: Operation & { parent: Node }) {
        if (node.parent.type === 'LogicalExpression') return
        const bySubject = Map.groupBy(comparisonsIn(node), ({ left }) => context.sourceCode.getText(left))
        const lists = [...bySubject.values()].map((comparisons) => comparisons.map(({ right }) => textOf(right)))
        report(node, lists.some(isComparedList))
      },
      SwitchStatement(node: Node & { cases: (Node & { test: Node | null })[] }) {
        report(node, isComparedList(node.cases.map(({ test }) => textOf(test))))
      },
      TemplateElement(node: Node & { value: { raw: string } }) {
        report(node, hasStatusList(node.value.raw))
      },
      Literal(node: Literal) {
        report(node, hasStatusList(textOf(node) ?? ''))
      },
    }
  },
}

type Operation = Node & { left: Node; right: Node; operator: string }

function textOf(node: Node | null | undefined) {
  const value = node?.['value']
  return node?.type === 'Literal' && typeof value === 'string' ? value : undefined
}

function comparisonsIn(node: Node): Operation[] {
  const operation = node as Operation
  if (node.type === 'LogicalExpression') return [...comparisonsIn(operation.left), ...comparisonsIn(operation.right)]
  return node.type === 'BinaryExpression' && /^[!=]==?$/.test(operation.operator) ? [operation] : []
}

export default {
  meta: { name: 'groundstate' },
  rules: {
    order,
    'no-re-export': noReExport,
    'sql-in-stores': sqlInStores,
    'list-parameters': listParameters,
    'run-statuses': runStatuses,
  },
}
