import { isWideNumber, parseExact } from '@groundstate/contract/exact-json'
import type { SyntaxNode } from '@lezer/common'
import { hclLanguage } from 'codemirror-lang-hcl'
import { type ParsedVariable, withoutMark, withoutRepeats } from './candidates.ts'

/*
 * What is read of HCL: the values of variables, which are literals. The parser comes with the grammar, so this file is
 * loaded when it is needed.
 */

/** The error in an HCL expression, if any. */
export function hclFault(value: string): string | undefined {
  if (value.trim() === '') return 'an HCL value can’t be empty: "" is the empty text'
  const head = 'value = '
  const source = `${head}${value}\n`
  const root = hclLanguage.parser.parse(source).topNode
  const attributes = root.getChild('Body')?.getChildren('Attribute') ?? []
  const broken = faultIn(root, source)
  if (broken) return broken.line === 1 ? broken.fault : `line ${broken.line}: ${broken.fault}`
  return attributes.length === 1 ? undefined : 'this is more than one value: a list needs [ ], an object { }'
}

/** Lines where a value may begin. Lines inside an object look the same, but belong to the value before. */
const START = /^[ \t]*[\p{L}_][\w-]*[ \t]*=(?!=)/u
/** A value whose end is further away than so many lines that look like beginnings has none. */
const MAX_STARTS = 2000

/**
 * Reads a `.tfvars` file: texts and numbers become plain values, everything else an HCL expression. A value that is not
 * closed is reported where it begins; the lines after it are read.
 */
export function parseTfvars(text: string): ParsedVariable[] {
  const lines = withoutMark(text)
    // A comment over several lines may look like values.
    .replaceAll(/^[ \t]*\/\*[\s\S]*?\*\//gm, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .split('\n')
  const starts = lines.flatMap((line, index) => (START.test(line) ? [index] : []))
  const given: ParsedVariable[] = []
  const head = lines.slice(0, starts[0] ?? lines.length).join('\n')
  if (!isCommentsOnly(head)) given.push({ line: firstWords(head), fault: 'this is no `name = value`' })
  for (let at = 0; at < starts.length;) {
    const { read, next } = readValue(lines, starts, at)
    given.push(read)
    at = next
  }
  return withoutRepeats(given)
}

/** The value that begins at `starts[at]`: as few lines as make a whole one. */
function readValue(
  lines: readonly string[],
  starts: readonly number[],
  at: number,
): { read: ParsedVariable; next: number } {
  const first = starts[at] ?? 0
  for (let end = at + 1; end <= Math.min(starts.length, at + MAX_STARTS); end += 1) {
    const source = `${lines.slice(first, starts[end] ?? lines.length).join('\n')}\n`
    const root = hclLanguage.parser.parse(source).topNode
    const nodes = root.getChild('Body')?.getChildren('Attribute') ?? []
    if (nodes.length === 1 && nodes[0] && isWhole(root, source)) {
      const read = readAttribute(nodes[0], source)
      return { read: { ...read, line: read.line + first }, next: end }
    }
  }
  const name = lines[first]?.split('=', 1)[0]?.trim() ?? ''
  const fault = `the value of ${name} is no HCL: is a quote or a bracket not closed, or something missing?`
  // Nested lines belong to it.
  const indent = indentOf(lines[first])
  const next = starts.findIndex((start, index) => index > at && indentOf(lines[start]) <= indent)
  return { read: { line: first + 1, fault }, next: next === -1 ? starts.length : next }
}

function indentOf(line = '') {
  return line.length - line.trimStart().length
}

/** Whether everything was parsed, and no quoted string continues on the next line. */
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

function firstWords(text: string) {
  return text.split('\n').findIndex((line) => !isCommentsOnly(line)) + 1
}

function readAttribute(node: SyntaxNode, source: string): ParsedVariable {
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

/** Rejects references and function calls in a value. */
function outside(node: SyntaxNode, text: string, rest: string) {
  if (node.type.name === 'FunctionCall') return `${text.split('(')[0]}() can’t be called here: a value is written out`
  if (node.type.name !== 'VariableExpr' || isObjectKey(node)) return undefined
  const whole = text + (/^(?:\.[\w-]+|\[[^\]]*\])*/.exec(rest)?.[0] ?? '')
  return `${whole} is a reference, which a value can’t contain: a string needs quotes, "${whole}"`
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

const ENV_START = /^[ \t]*(?:export[ \t]+)?([^\s=#'"]+)[ \t]*=[ \t]*/
const ENV_ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$', '`': '`' }

/**
 * Reads a `.env` file: `KEY=value`, `export KEY=value`, quoted strings over several lines, comments. Values stand for
 * themselves: nothing is put in for `$OTHER`.
 */
export function parseEnv(source: string): ParsedVariable[] {
  const lines = withoutMark(source).split('\n')
  const given: ParsedVariable[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const text = lines[index] ?? ''
    if (/^\s*(?:#|$)/.test(text)) continue
    const line = index + 1
    const [start, key] = ENV_START.exec(text) ?? []
    if (start === undefined || key === undefined) {
      given.push({ line, fault: `“${text.trim().slice(0, 40)}” is no KEY=value` })
      continue
    }
    const rest = text.slice(start.length)
    const quote = rest[0]
    if (quote !== '"' && quote !== "'") {
      given.push({ key, line, hcl: false, value: rest.replace(/(?:^|\s)#.*$/, '').trim() })
      continue
    }
    // The text may go on in the next lines, until its quote.
    let body = rest.slice(1)
    let end = endOf(body, quote)
    let last = index
    while (end === -1 && last + 1 < lines.length) {
      last += 1
      body += `\n${lines[last] ?? ''}`
      end = endOf(body, quote)
    }
    if (end === -1) {
      given.push({ line, fault: `the ${quote} of ${key} is never closed` })
      continue
    }
    const behind = body.slice(end + 1).trim()
    index = last
    if (behind !== '' && !behind.startsWith('#')) {
      given.push({ line, fault: `“${behind.slice(0, 40)}” follows the string of ${key}` })
      continue
    }
    const value = body.slice(0, end)
    given.push({ key, line, hcl: false, value: quote === '"' ? unescaped(value) : value })
  }
  return withoutRepeats(given)
}

/** Index of the closing quote; -1 when there is none. */
function endOf(body: string, quote: string) {
  for (let index = 0; index < body.length; index += 1) {
    if (quote === '"' && body[index] === '\\') index += 1
    else if (body[index] === quote) return index
  }
  return -1
}

function unescaped(text: string) {
  return text.replaceAll(/\\(.)/gs, (whole, character: string) => ENV_ESCAPES[character] ?? whole)
}

/** Reads a `.tfvars.json` file: texts, numbers and bools become plain values, everything else an HCL expression, which JSON is. */
export function parseJsonVariables(source: string): ParsedVariable[] {
  let values: unknown
  try {
    values = parseExact(withoutMark(source))
  } catch (error) {
    return [{ line: 1, fault: `this is no JSON: ${error instanceof Error ? error.message : String(error)}` }]
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

/** A value of JSON in HCL: `${` and `%{` would begin something to put in. */
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
