import { isObject, isSameJson, isWideNumber } from './exact-json.ts'
import { REDACTED, REDACTED_CHANGED, field, record, records } from './redacted-plan.ts'

/** Texts of sensitive variables, by which their values are recognised where the engine has lost the mark. */
export type SensitiveTexts = Pick<ReadonlySet<string>, 'has' | 'size'>

/** Shorter values, such as `true`, `1` or `prod`, are too common: masking them would make a diff useless. */
const MIN_LENGTH = 6

/** A quoted string, which may be the key of an object, or the start of a heredoc. One that is not closed ends with the text: no part is read twice. */
const HCL_TEXT = /"((?:\\[^]?|[^"\\])*)(?:"(\s*[=:])?|$)|<<(-?)(\w+)\n/g
const HCL_NUMBER = /(?<![\w.-])-?\d[\d.]*(?![\w.])/g

/** The texts of the values of sensitive variables: each whole value, and the strings and numbers in an HCL expression. */
export function sensitiveTexts(values: Iterable<{ value: string; hcl: boolean }>): ReadonlySet<string> {
  const texts = new Set<string>()
  for (const { value, hcl } of values) {
    texts.add(value)
    // The engine reads a variable of a list or object type as HCL in any case.
    if (hcl || /^\s*[[{]/.test(value)) addExpression(value, texts)
  }
  return new Set([...texts].filter((text) => text.length >= MIN_LENGTH))
}

function addExpression(expression: string, texts: Set<string>) {
  const pattern = new RegExp(HCL_TEXT)
  let rest = ''
  let from = 0
  for (let match = pattern.exec(expression); match; match = pattern.exec(expression)) {
    const [, quoted, isKey, flush, delimiter] = match
    rest += expression.slice(from, match.index)
    if (delimiter !== undefined) {
      const { lines, end } = readHeredoc(expression, delimiter, pattern.lastIndex)
      const text = (flush ? withoutIndent(lines) : lines).join('\n')
      // The engine keeps the last line break, and a configuration often removes it.
      texts.add(text).add(`${text}\n`)
      pattern.lastIndex = end
    } else if (isKey === undefined) texts.add(unquoted(quoted ?? ''))
    from = pattern.lastIndex
  }
  for (const [number] of (rest + expression.slice(from)).matchAll(HCL_NUMBER)) texts.add(number)
}

/** The lines of a heredoc up to its delimiter, and where it ends. */
function readHeredoc(text: string, delimiter: string, start: number) {
  const lines: string[] = []
  for (let from = start; from < text.length;) {
    const next = text.indexOf('\n', from)
    const end = next === -1 ? text.length : next
    const line = text.slice(from, end)
    if (line.trim() === delimiter) return { lines, end }
    lines.push(line)
    from = end + 1
  }
  return { lines, end: text.length }
}

function withoutIndent(lines: readonly string[]) {
  const indent = lines.reduce((least, line) => Math.min(least, line.search(/[^ ]|$/)), Infinity)
  return lines.map((line) => line.slice(indent))
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t' }

function unquoted(text: string) {
  return text
    .replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, code?: string, one = '') =>
      code === undefined ? (ESCAPES[one] ?? one) : String.fromCodePoint(Number.parseInt(code, 16)),
    )
    .replaceAll('$${', '${')
    .replaceAll('%%{', '%{')
}

/** Whether a string or number, as a whole, is the value of a sensitive variable. */
export function isSensitiveValue(value: unknown, texts: SensitiveTexts) {
  if (typeof value === 'string') return texts.has(value)
  if (typeof value === 'number') return texts.has(String(value))
  return isWideNumber(value) && texts.has(value.digits)
}

/** Whether a value is, or contains, the value of a sensitive variable, also as a key. */
export function holdsSensitiveValue(value: unknown, texts: SensitiveTexts): boolean {
  if (texts.size === 0) return false
  if (!isObject(value)) return isSensitiveValue(value, texts)
  return hasSensitiveKey(value, texts) || Object.values(value).some((item) => holdsSensitiveValue(item, texts))
}

function hasSensitiveKey(value: unknown, texts: SensitiveTexts) {
  return isObject(value) && !Array.isArray(value) && Object.keys(value).some((key) => texts.has(key))
}

/** A redacted plan whose changes have the values of sensitive variables replaced and marked. A change that replaces such a value hides both sides. */
export function maskedPlan(plan: unknown, texts: SensitiveTexts) {
  const document = record(plan)
  if (texts.size === 0) return document
  const masked = (change: unknown) => maskedChange(record(change), texts, { isResource: true })
  const resources = (list: unknown) =>
    records(list).map((resource) => ({ ...resource, change: masked(resource.change) }))
  return {
    ...document,
    resource_changes: resources(document.resource_changes),
    resource_drift: resources(document.resource_drift),
    deferred_changes: records(document.deferred_changes).map((deferred) => {
      const resource = record(deferred.resource_change)
      return { ...deferred, resource_change: { ...resource, change: masked(resource.change) } }
    }),
    output_changes: Object.fromEntries(
      Object.entries(record(document.output_changes)).map(([name, change]) => [
        name,
        maskedChange(record(change), texts, { isResource: false }),
      ]),
    ),
    ...(document.action_invocations !== undefined && {
      action_invocations: records(document.action_invocations).map((action) => {
        const { after, after_sensitive: marks } = maskedChange(
          { after: action.config_values, after_sensitive: action.config_sensitive },
          texts,
          { isResource: true },
        )
        return { ...action, config_values: after, config_sensitive: marks }
      }),
    }),
  }
}

/** `isResource`: the keys at the top are names of attributes, which are never sensitive. */
function maskedChange(whole: Record<string, unknown>, texts: SensitiveTexts, { isResource }: { isResource: boolean }) {
  const change = withoutKeys(whole, texts, isResource)
  const { before, after, before_sensitive: beforeMarks, after_sensitive: afterMarks } = change
  const mask = isResource ? maskedAttributes : maskedSides
  const sides = mask({ before, after, beforeMarks, afterMarks }, texts)
  if (!sides) return change
  return {
    ...change,
    before: sides.before,
    after: sides.after,
    before_sensitive: sides.beforeMarks,
    after_sensitive: sides.afterMarks,
  }
}

/** A change without sensitive keys in its marks and paths, which alone have the key of an unknown value. */
function withoutKeys(
  change: Record<string, unknown>,
  texts: SensitiveTexts,
  isResource: boolean,
): Record<string, unknown> {
  const trees = ['after_unknown', 'before_sensitive', 'after_sensitive'].filter((name) => isObject(change[name]))
  const paths = change.replace_paths
  return {
    ...change,
    ...Object.fromEntries(trees.map((name) => [name, marksWithoutKeys(change[name], texts, isResource)])),
    ...(Array.isArray(paths) && { replace_paths: paths.map((path) => pathWithoutKeys(path, texts)) }),
  }
}

function marksWithoutKeys(marks: unknown, texts: SensitiveTexts, isResource = false): unknown {
  if (!isObject(marks)) return marks
  if (Array.isArray(marks)) return marks.map((item) => marksWithoutKeys(item, texts))
  if (!isResource && hasSensitiveKey(marks, texts)) return true
  return Object.fromEntries(Object.entries(marks).map(([key, item]) => [key, marksWithoutKeys(item, texts)]))
}

/** The path of the object that has the key. The first step of a path is the name of an attribute. */
function pathWithoutKeys(path: unknown, texts: SensitiveTexts): unknown {
  if (!Array.isArray(path)) return path
  const end = path.findIndex((step, index) => index > 0 && isSensitiveValue(step, texts))
  return end === -1 ? path : path.slice(0, end)
}

type Sides = Record<'before' | 'after' | 'beforeMarks' | 'afterMarks', unknown>

/** An object with a sensitive key is masked as a whole. Undefined if neither side has a sensitive value. */
function maskedSides(sides: Sides, texts: SensitiveTexts): Sides | undefined {
  const { before, after } = sides
  if (![before, after].some((side) => isSensitiveValue(side, texts) || hasSensitiveKey(side, texts)))
    return maskedAttributes(sides, texts)
  const isChange = !isUnset(before) && !isUnset(after) && !isSameJson(before, after)
  return {
    before: isUnset(before) ? before : REDACTED,
    after: isUnset(after) ? after : isChange ? REDACTED_CHANGED : REDACTED,
    beforeMarks: true,
    afterMarks: true,
  }
}

/** Masks the items of both sides. The keys at this level may be the names of a resource's attributes, which are never sensitive. */
function maskedAttributes({ before, after, beforeMarks, afterMarks }: Sides, texts: SensitiveTexts): Sides | undefined {
  const items = new Map<string, Sides>()
  for (const key of new Set([before, after].flatMap((side) => (isObject(side) ? Object.keys(side) : [])))) {
    const item = maskedSides(
      {
        before: field(before, key),
        after: field(after, key),
        beforeMarks: field(beforeMarks, key),
        afterMarks: field(afterMarks, key),
      },
      texts,
    )
    if (item) items.set(key, item)
  }
  if (items.size === 0) return undefined
  return {
    before: withItems(before, items, 'before'),
    after: withItems(after, items, 'after'),
    beforeMarks: withMarks(beforeMarks, before, items, 'beforeMarks'),
    afterMarks: withMarks(afterMarks, after, items, 'afterMarks'),
  }
}

type Items = ReadonlyMap<string, Sides>

function withItems(value: unknown, items: Items, side: 'before' | 'after'): unknown {
  if (!isObject(value)) return value
  const itemOf = (key: string, own: unknown) => (items.has(key) ? items.get(key)?.[side] : own)
  if (Array.isArray(value)) return value.map((own, index) => itemOf(String(index), own))
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, itemOf(key, own)]))
}

/** Marks have the shape of their value. */
function withMarks(marks: unknown, value: unknown, items: Items, side: 'beforeMarks' | 'afterMarks'): unknown {
  if (marks === true || !isObject(value)) return marks
  const markOf = (key: string) => items.get(key)?.[side] ?? field(marks, key) ?? false
  if (Array.isArray(value)) return value.map((_, index) => markOf(String(index)))
  const keys = [...items.keys()].filter((key) => Object.hasOwn(value, key))
  return { ...record(marks), ...Object.fromEntries(keys.map((key) => [key, markOf(key)])) }
}

function isUnset(value: unknown) {
  return value === undefined || value === null
}
