import { isWideNumber, parseExact } from '@groundstate/contract/exact-json'
import type { SyntaxNode } from '@lezer/common'
import { hclLanguage } from 'codemirror-lang-hcl'
import type { ParsedVariable } from './candidates.ts'

// Load this file lazily: the HCL parser comes with its grammar.

/** The error in an HCL expression, if any. */
export function hclFault(value: string): string | undefined {
  if (value.trim() === '') return 'an HCL value can’t be empty: write "" for an empty string'
  const head = 'value = '
  const source = `${head}${value}\n`
  const root = hclLanguage.parser.parse(source).topNode
  const attributes = root.getChild('Body')?.getChildren('Attribute') ?? []
  const broken = faultIn(root, source)
  if (broken) return broken.line === 1 ? broken.fault : `line ${broken.line}: ${broken.fault}`
  return attributes.length === 1 ? undefined : 'this is more than one value: write a list as [ ], an object as { }'
}

/** Lines where a variable may start. Members of an object look the same, but belong to the preceding value. */
const START = /^[ \t]*[\p{L}_][\w-]*[ \t]*=(?!=)/u
/** A value that spans more lines that look like starts counts as unclosed. */
const MAX_STARTS = 2000

/**
 * Parses a `.tfvars` file: strings and numbers become plain values, anything else an HCL expression. An unclosed value is
 * reported at its start, and parsing continues after it.
 */
export function parseTfvars(text: string): ParsedVariable[] {
  const lines = normalized(text)
    // Lines of a block comment may look like variables.
    .replaceAll(/^[ \t]*\/\*[\s\S]*?\*\//gm, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .split('\n')
  const starts = lines.flatMap((line, index) => (START.test(line) ? [index] : []))
  const parsed: ParsedVariable[] = []
  const head = lines.slice(0, starts[0] ?? lines.length).join('\n')
  const line = head.split('\n').findIndex((text) => !isCommentsOnly(text)) + 1
  if (!isCommentsOnly(head)) parsed.push({ line, fault: NO_ASSIGNMENT })
  for (let at = 0; at < starts.length;) {
    const { variable, next } = readValue(lines, starts, at)
    parsed.push(variable)
    at = next
  }
  return withoutRepeats(parsed)
}

/** Parses the variable at `starts[at]`, which ends at the first line that completes its value. */
function readValue(lines: readonly string[], starts: readonly number[], at: number) {
  const first = starts[at] ?? 0
  for (let end = at + 1; end <= Math.min(starts.length, at + MAX_STARTS); end += 1) {
    const source = `${lines.slice(first, starts[end] ?? lines.length).join('\n')}\n`
    const root = hclLanguage.parser.parse(source).topNode
    const nodes = root.getChild('Body')?.getChildren('Attribute') ?? []
    if (nodes.length === 1 && nodes[0] && isWhole(root, source)) {
      const variable = readAttribute(nodes[0], source)
      return { variable: { ...variable, line: variable.line + first }, next: end }
    }
  }
  const name = lines[first]?.split('=', 1)[0]?.trim() ?? ''
  const fault = `the value of ${name} is not valid HCL: check for unclosed quotes and brackets and missing parts`
  // More deeply indented lines belong to it.
  const indent = indentOf(lines[first])
  const next = starts.findIndex((start, index) => index > at && indentOf(lines[start]) <= indent)
  return { variable: { line: first + 1, fault }, next: next === -1 ? starts.length : next }
}

function indentOf(line = '') {
  return line.length - line.trimStart().length
}

/** Whether there is no syntax error, and no quoted string spans lines. */
function isWhole(root: SyntaxNode, source: string) {
  let whole = true
  root.cursor().iterate(({ type, from, to }) => {
    if (
      type.isError ||
      (type.name === 'TemplateLiteral' && source[from - 1] === '"' && source.slice(from, to).includes('\n'))
    )
      whole = false
    return whole
  })
  return whole
}

const NO_ASSIGNMENT = 'expected `name = value`'

function readAttribute(node: SyntaxNode, source: string): ParsedVariable {
  const line = lineOf(source, node.from)
  const broken = faultIn(node, source)
  if (broken) return broken
  const name = node.getChild('Identifier')
  const expression = node.getChild('Expression')
  if (node.type.name !== 'Attribute' || !name || !expression) {
    return { line, fault: NO_ASSIGNMENT }
  }
  const key = source.slice(name.from, name.to)
  const text = source.slice(expression.from, expression.to)
  const literal = plainLiteral(expression, text)
  return literal === undefined ? { key, line, hcl: true, value: text } : { key, line, hcl: false, value: literal }
}

/** The value of a string without interpolation, a number or a bool, none of which needs HCL; otherwise undefined. */
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

function faultIn(node: SyntaxNode, source: string): { line: number; fault: string } | undefined {
  let first: { line: number; fault: string } | undefined
  node.cursor().iterate(({ type, from, to, node: inner }) => {
    if (first) return false
    const fault = type.isError ? syntaxFault(source, from) : notLiteral(inner, source.slice(from, to), source.slice(to))
    // A part missing at the end of the text is reported at the start of the value.
    if (fault !== undefined)
      first = { line: lineOf(source, source.slice(from).trim() === '' ? node.from : from), fault }
    // A `for` expression defines its own variables.
    return type.name !== 'ForExpr'
  })
  return first
}

function syntaxFault(source: string, at: number) {
  const rest = source.slice(at).split('\n')[0]?.trim() ?? ''
  return rest === ''
    ? 'unexpected end: a quote, a bracket or a value is missing'
    : `“${rest.slice(0, 30)}” is unexpected here`
}

/** The fault of a function call or a reference, which only configurations may contain. */
function notLiteral(node: SyntaxNode, text: string, rest: string) {
  if (node.type.name === 'FunctionCall') return `${text.split('(')[0]}() can’t be called here: write the value itself`
  if (node.type.name !== 'VariableExpr' || isObjectKey(node)) return undefined
  const whole = text + (/^(?:\.[\w-]+|\[[^\]]*\])*/.exec(rest)?.[0] ?? '')
  return `${whole} is a reference, which values can’t contain: write a string in quotes, "${whole}"`
}

/** `{ a = 1 }`: a key needs no quotes. */
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

/** `KEY=`, a quoted string if any, and the rest of the line. */
const ENV_LINE = /[ \t]*(?:export[ \t]+)?([^\s=#'"]+)[ \t]*=[ \t]*("(?:\\[^]|[^"\\])*"|'[^']*'|)([^\n]*)/y
const ENV_ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$', '`': '`' }

/** Parses a `.env` file: `KEY=value`, `export KEY=value`, multi-line quoted strings, comments. `$OTHER` is not expanded. */
export function parseEnv(source: string): ParsedVariable[] {
  const text = normalized(source)
  const parsed: ParsedVariable[] = []
  const lines = text.split('\n')
  let at = 0
  for (let index = 0; index < lines.length; index += 1) {
    const first = lines[index] ?? ''
    const line = index + 1
    ENV_LINE.lastIndex = at
    at += first.length + 1
    if (/^\s*(?:#|$)/.test(first)) continue
    const [whole = '', key, quoted = '', rest = ''] = ENV_LINE.exec(text) ?? []
    const quote = quoted[0]
    if (key === undefined) {
      parsed.push({ line, fault: `“${first.trim().slice(0, 40)}” is not of the form KEY=value` })
    } else if (quote === undefined && /^["']/.test(rest)) {
      parsed.push({ line, fault: `the ${rest[0]} of ${key} is not closed` })
    } else if (quote === undefined) {
      parsed.push({ key, line, hcl: false, value: rest.replace(/(?:^|\s)#.*$/, '').trim() })
    } else {
      // The string may span lines.
      index += quoted.split('\n').length - 1
      at += whole.length - first.length
      const body = quoted.slice(1, -1)
      const value = quote === '"' ? body.replaceAll(/\\(.)/gs, (all, one: string) => ENV_ESCAPES[one] ?? all) : body
      const trailing = rest.trim()
      const fault = `“${trailing.slice(0, 40)}” after the string of ${key} is unexpected`
      parsed.push(/^(?:#|$)/.test(trailing) ? { key, line, hcl: false, value } : { line, fault })
    }
  }
  return withoutRepeats(parsed)
}

/** Parses a `.tfvars.json` file: strings, numbers and bools become plain values, anything else an HCL expression. */
export function parseJsonVariables(source: string): ParsedVariable[] {
  let values: unknown
  try {
    values = parseExact(normalized(source))
  } catch (error) {
    return [{ line: 1, fault: `invalid JSON: ${error instanceof Error ? error.message : String(error)}` }]
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values) || isWideNumber(values)) {
    return [{ line: 1, fault: 'the JSON must be an object: {"name": value}' }]
  }
  return Object.entries(values).map(([key, value]) => {
    if (isWideNumber(value)) return { key, line: 1, hcl: false, value: value.digits }
    const isPlain = typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number'
    return { key, line: 1, hcl: !isPlain, value: isPlain ? String(value) : hclOf(value, '') }
  })
}

/** A JSON value in HCL, with `${` and `%{` escaped. */
function hclOf(value: unknown, indent: string): string {
  const deeper = `${indent}  `
  if (isWideNumber(value)) return value.digits
  if (typeof value === 'string') return JSON.stringify(value).replaceAll(/([$%])\{/g, '$1$1{')
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => `${deeper}${hclOf(item, deeper)},\n`).join('')}${indent}]`
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    if (members.length === 0) return '{}'
    return `{\n${members.map(([name, item]) => `${deeper}${hclOf(name, deeper)} = ${hclOf(item, deeper)}\n`).join('')}${indent}}`
  }
  return String(value)
}

/** Without a byte order mark and carriage returns. */
function normalized(text: string) {
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}

/** Turns all but the last variable of the same name into faults. */
function withoutRepeats(parsed: readonly ParsedVariable[]): ParsedVariable[] {
  const last = new Map(parsed.filter((one) => 'key' in one).map((one) => [one.key, one]))
  return parsed.map((one) => {
    const winner = 'key' in one ? last.get(one.key) : undefined
    if (winner === undefined || winner === one) return one
    return { line: one.line, fault: `${winner.key} is overridden by line ${winner.line}` }
  })
}
