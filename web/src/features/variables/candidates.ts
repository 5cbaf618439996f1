import type { Category, Variable, WorkspaceVariable } from './variables.ts'

/** A variable in the preview of an import. */
export type Candidate = {
  key: string
  /** Undefined until the user enters it: sensitive values can't be copied. */
  value: string | undefined
  hcl: boolean
  sensitive: boolean
  category: Category
  /** The workspace's own variable that it updates. */
  existingId: string | undefined
  /** The existing value; null if sensitive. */
  before: string | null | undefined
  isSelected: boolean
  /** `done`, or the error of the attempt to save it. */
  saved?: string
}

/** Candidates from a file. An existing variable keeps settings that the file lacks. */
export function parsedCandidates(
  parsed: readonly ParsedVariable[],
  existing: readonly WorkspaceVariable[],
  category: Category,
): Candidate[] {
  return parsed
    .filter((one) => 'key' in one)
    .map(({ key, value, hcl }) => {
      const own = find(existing, category, key)
      const sensitive = own?.attributes.sensitive ?? isLikelySecret(key)
      return candidate({ key, value, hcl, sensitive, category }, own)
    })
}

export function copiedCandidates(variables: readonly Variable[], existing: readonly WorkspaceVariable[]): Candidate[] {
  return variables.map(({ attributes: { key, value, hcl, sensitive: isSensitive, category } }) => {
    const own = find(existing, category, key)
    const sensitive = isSensitive || (own?.attributes.sensitive ?? false)
    return candidate({ key, value: value ?? undefined, hcl, sensitive, category }, own)
  })
}

type Settings = Pick<Candidate, 'key' | 'value' | 'hcl' | 'sensitive' | 'category'>

function candidate(settings: Settings, own: Variable | undefined): Candidate {
  const before = own?.attributes
  const isSame = before?.sensitive === false && before.value === settings.value && before.hcl === settings.hcl
  const isSelected = !isSame && settings.value !== undefined
  return { ...settings, existingId: own?.id, before: before?.value, isSelected }
}

function find(existing: readonly WorkspaceVariable[], category: Category, key: string) {
  return existing.find(({ variable: { attributes } }) => attributes.key === key && attributes.category === category)
    ?.variable
}

/** The candidates with one changed. The same name may occur once per category. */
export function changedIn(
  candidates: readonly Candidate[],
  { key, category }: Pick<Candidate, 'key' | 'category'>,
  changes: Partial<Candidate>,
): Candidate[] {
  return candidates.map((one) => (one.key === key && one.category === category ? { ...one, ...changes } : one))
}

export function effectOf({ existingId, before, value }: Candidate) {
  if (existingId === undefined) return 'new'
  return before !== null && before === value ? 'unchanged' : 'changed'
}

/** A variable parsed from text, or a fault; `line` is counted from 1. */
export type ParsedVariable =
  | { key: string; value: string; hcl: boolean; line: number }
  | { fault: string; line: number }

export type ParsedFormat = 'tfvars' | 'env' | 'json'

/** The format of a text, by its file name if it has one, otherwise by its content. */
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

/** Whether the name suggests a secret, which is preselected as sensitive. */
export function isLikelySecret(key: string) {
  return /passw(?:or)?d|secret|token|private[_-]?key|api[_-]?key|access[_-]?key(?!.*id)|credential/i.test(key)
}
