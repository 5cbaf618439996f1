import type { SyntaxNode } from '@lezer/common'
import { hclLanguage } from 'codemirror-lang-hcl'
import { type Given, withoutMark, withoutRepeats } from './given.ts'

/*
 * What is read of HCL: the values of variables, which are literals. The parser comes with the grammar, so this file is
 * loaded when it is needed.
 */

/** What is wrong with a value that is to be an HCL expression; undefined when nothing is. */
export function hclFault(value: string): string | undefined {
  if (value.trim() === '') return 'an HCL value can’t be empty: "" is the empty text'
  const head = 'value = '
  const source = `${head}${value}\n`
  const root = hclLanguage.parser.parse(source).topNode
  const attributes = root.getChild('Body')?.getChildren('Attribute') ?? []
  const broken = faultIn(root, source)
  if (broken) return broken.line === 1 ? broken.fault : `line ${broken.line}: ${broken.fault}`
  return attributes.length === 1 ? undefined : 'this is more than one value: a list stands in [ ], an object in { }'
}

/** Reads a `.tfvars` file: texts and numbers become plain values, everything else an HCL expression. */
export function parseTfvars(text: string): Given[] {
  // A comment at the very end of a text needs its line end.
  const source = `${withoutMark(text)}\n`
  const body = hclLanguage.parser.parse(source).topNode.getChild('Body')
  const given: Given[] = []
  for (let node = body?.firstChild ?? null; node; node = node.nextSibling) {
    if (node.type.name === 'Comment' || node.type.name.endsWith('Comment')) continue
    given.push(readAttribute(node, source))
  }
  if (!body && source.trim() !== '' && !isCommentsOnly(source))
    given.push({ line: 1, fault: 'this is no `name = value`' })
  return withoutRepeats(given)
}

function readAttribute(node: SyntaxNode, source: string): Given {
  const line = lineOf(source, node.from)
  const broken = faultIn(node, source)
  if (broken) return broken
  const name = node.getChild('Identifier')
  const expression = node.getChild('Expression')
  if (node.type.name !== 'Attribute' || !name || !expression) {
    return {
      line,
      fault: `“${source.slice(node.from, Math.min(node.to, node.from + 40)).split('\n')[0]}” is no \`name = value\``,
    }
  }
  const key = source.slice(name.from, name.to)
  const text = source.slice(expression.from, expression.to)
  const literal = plainLiteral(expression, text)
  return literal === undefined ? { key, line, hcl: true, value: text } : { key, line, hcl: false, value: literal }
}

/** A text without anything to put in, a number or a bool: such a value needs no HCL. */
function plainLiteral(expression: SyntaxNode, text: string) {
  if (/^(?:-?\d+(?:\.\d+)?|true|false|"")$/.test(text)) return text === '""' ? '' : text
  const string = expression.getChild('LiteralValue')?.getChild('StringLit')
  if (!string || string.from !== expression.from || string.to !== expression.to) return undefined
  return unquoted(text)
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' }

function unquoted(text: string) {
  const body = text.slice(1, -1)
  return body
    .replaceAll(
      /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g,
      (whole, short?: string, long?: string, one?: string) => {
        const code = short ?? long
        if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16))
        return ESCAPES[one ?? ''] ?? whole
      },
    )
    .replaceAll('$${', '${')
    .replaceAll('%%{', '%{')
}

/** The first thing in a node that makes its value unusable. */
function faultIn(node: SyntaxNode, source: string): { line: number; fault: string } | undefined {
  let found: { line: number; fault: string } | undefined
  node.cursor().iterate(({ type, from, to, node: own }) => {
    if (found) return false
    const fault = type.isError ? unreadable(source, from) : outside(own, source.slice(from, to), source.slice(to))
    // What is missing at the end of the text is missing where the value begins.
    if (fault !== undefined)
      found = { line: lineOf(source, source.slice(from).trim() === '' ? node.from : from), fault }
    // What a `for` names is its own.
    return type.name !== 'ForExpr'
  })
  return found
}

function unreadable(source: string, at: number) {
  const rest = source.slice(at).split('\n')[0]?.trim() ?? ''
  return rest === ''
    ? 'something is missing here: is a quote or a bracket not closed?'
    : `“${rest.slice(0, 30)}” is not understood here`
}

/** A value stands alone: it can't refer to anything, and can't call functions. */
function outside(node: SyntaxNode, text: string, rest: string) {
  if (node.type.name === 'FunctionCall') return `${text.split('(')[0]}() can’t be called here: a value is written out`
  if (node.type.name !== 'VariableExpr' || isObjectKey(node)) return undefined
  const whole = text + (/^(?:\.[\w-]+|\[[^\]]*\])*/.exec(rest)?.[0] ?? '')
  return `${whole} would refer to something else, which a value can’t: a text stands in quotes, "${whole}"`
}

/** `{ a = 1 }`: the name of a member needs no quotes. */
function isObjectKey(node: SyntaxNode) {
  const expression = node.parent
  return expression?.parent?.type.name === 'ObjectKey' && expression.from === node.from && expression.to === node.to
}

function isCommentsOnly(source: string) {
  return source.replaceAll(/#.*|\/\/.*|\/\*[\s\S]*?\*\//g, '').trim() === ''
}

function lineOf(source: string, at: number) {
  return source.slice(0, at).split('\n').length
}
