import type { Category, Sourced, Variable } from './variables.ts'

/** A variable that may be saved, once the person has looked at it. */
export type Candidate = {
  key: string
  /** Undefined while it has to be given: that of a sensitive variable can't be copied. */
  value: string | undefined
  hcl: boolean
  sensitive: boolean
  category: Category
  /** The own variable that it changes. */
  existingId: string | undefined
  /** The value that is there; null when it is sensitive. */
  before: string | null | undefined
  isChosen: boolean
  /** `done`, or why it could not be saved. */
  saved?: string
}

/** Candidates from a file. An existing variable keeps settings that the file lacks. */
export function candidatesOf(
  given: readonly ParsedVariable[],
  existing: readonly Sourced[],
  category: Category,
): Candidate[] {
  return given.flatMap((one) => {
    if (!('key' in one)) return []
    const own = find(existing, category, one.key)
    return [candidate({ ...one, category, sensitive: own?.sensitive ?? soundsSecret(one.key), own })]
  })
}

/** Candidates from another workspace. */
export function copied(variables: readonly Variable[], existing: readonly Sourced[]): Candidate[] {
  return variables.map(({ attributes: { key, value, hcl, sensitive, category } }) => {
    const own = find(existing, category, key)
    return candidate({
      key,
      value: value ?? undefined,
      hcl,
      category,
      sensitive: sensitive || (own?.sensitive ?? false),
      own,
    })
  })
}

type Own = { id: string; value: string | null; sensitive: boolean; hcl: boolean }
type Parts = Pick<Candidate, 'key' | 'value' | 'hcl' | 'sensitive' | 'category'> & { own: Own | undefined }

function candidate({ own, key, value, hcl, sensitive, category }: Parts): Candidate {
  const isSame = own !== undefined && !own.sensitive && own.value === value && own.hcl === hcl
  return {
    key,
    value,
    hcl,
    sensitive,
    category,
    existingId: own?.id,
    before: own?.value,
    isChosen: !isSame && value !== undefined,
  }
}

function find(existing: readonly Sourced[], category: Category, key: string): Own | undefined {
  const found = existing.find(
    ({ variable: { attributes } }) => attributes.key === key && attributes.category === category,
  )
  return found && { id: found.id, ...found.variable.attributes }
}

/** The candidates with one changed. A name may be given twice, once for the engine and once for its environment. */
export function changedIn(
  candidates: readonly Candidate[],
  { key, category }: Pick<Candidate, 'key' | 'category'>,
  changes: Partial<Candidate>,
): Candidate[] {
  return candidates.map((one) => (one.key === key && one.category === category ? { ...one, ...changes } : one))
}

/** Describes the effect of saving a candidate. */
export function effectOf({ existingId, before, value }: Candidate) {
  if (existingId === undefined) return 'new'
  return before !== null && before === value ? 'the same' : 'changes'
}

/** A variable that someone has given as text, or a place in the text that can't be read. */
export type ParsedVariable =
  | { key: string; value: string; hcl: boolean; /** Counted from 1. */ line: number }
  | { fault: string; line: number }

export type ParsedFormat = 'tfvars' | 'env' | 'json'

/** Which format a text has: by the name of its file if there is one, else by what it looks like. */
export function formatOf(text: string, fileName = ''): ParsedFormat {
  if (/\.json$/i.test(fileName)) return 'json'
  if (/\.tfvars$/i.test(fileName)) return 'tfvars'
  if (/(?:^|\.)env(?:\.|$)/i.test(fileName)) return 'env'
  const trimmed = text.trim()
  if (trimmed.startsWith('{') && trimmed.endsWith('}')) return 'json'
  const lines = trimmed.split('\n').filter((line) => /^\s*[\w.-]+\s*=|^\s*export\s/.test(line))
  const isEnv =
    lines.some((line) => /^\s*export\s/.test(line)) ||
    (lines.length > 0 && lines.every((line) => /^[A-Z_][A-Z0-9_]*=/.test(line)))
  return isEnv ? 'env' : 'tfvars'
}

/** Names that suggest a secret: preselected as sensitive. */
export function soundsSecret(key: string) {
  return /passw(?:or)?d|secret|token|private[_-]?key|api[_-]?key|access[_-]?key(?!.*id)|credential/i.test(key)
}

/** Only the last of several of the same name counts; the others are faults that say so. */
export function withoutRepeats(given: readonly ParsedVariable[]): ParsedVariable[] {
  const last = new Map(given.flatMap((one) => ('key' in one ? [[one.key, one] as const] : [])))
  return given.map((one) => {
    const winner = 'key' in one ? last.get(one.key) : undefined
    return winner === undefined || winner === one || !('key' in one)
      ? one
      : { line: one.line, fault: `${one.key} is given again in line ${winner.line}, which counts` }
  })
}

export function withoutMark(text: string) {
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}
