import { type Given, soundsSecret } from './given.ts'
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

/** What a file gives. A variable that is there already keeps what the file does not say. */
export function candidatesOf(given: readonly Given[], existing: readonly Sourced[], category: Category): Candidate[] {
  return given.flatMap((one) => {
    if (!('key' in one)) return []
    const own = find(existing, category, one.key)
    return [candidate({ ...one, category, sensitive: own?.sensitive ?? soundsSecret(one.key), own })]
  })
}

/** What another workspace has. */
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

/** What saving a candidate does, in words. */
export function effectOf({ existingId, before, value }: Candidate) {
  if (existingId === undefined) return 'new'
  return before !== null && before === value ? 'the same' : 'changes'
}
