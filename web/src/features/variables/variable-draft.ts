import type { Category, Variable } from './variables.ts'

/** A variable as it stands in the form. */
export type Draft = {
  key: string
  value: string
  description: string
  category: Category
  hcl: boolean
  sensitive: boolean
}

const EMPTY: Draft = { key: '', value: '', description: '', category: 'terraform', hcl: false, sensitive: false }

/** The form of a variable, or of a new one. That of a sensitive one begins without its value, which nobody can read. */
export function draftOf(variable: Variable | undefined): Draft {
  if (!variable) return EMPTY
  const { key, value, description, category, hcl, sensitive } = variable.attributes
  return { key, value: value ?? '', description, category, hcl, sensitive }
}

/**
 * What the person has changed, which is all that is sent: the rest may have been changed by others in the meantime. A
 * sensitive value that is left empty stays the one that is there.
 */
export function changesOf(draft: Draft, initial: Draft): Partial<Draft> {
  const names = Object.keys(draft) as (keyof Draft)[]
  return Object.fromEntries(names.filter((name) => draft[name] !== initial[name]).map((name) => [name, draft[name]]))
}
