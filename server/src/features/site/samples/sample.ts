import type * as store from './store.ts'

/** A sample with what it consists of, as far as the actor may see it. */
export type Sample = {
  row: store.SampleRow
  organizationName: string
  isComplete: boolean
  contents: store.SampleContents
}

type Project = NonNullable<store.SampleContents['project']>

/** Why the project of a sample stays when the sample is removed; undefined when it goes. */
export function keptBecause({ is_default: isDefault, foreign_workspaces, foreign_sets }: Project) {
  if (isDefault) return "it is the organization's default project"
  const others = [
    ...(foreign_workspaces > 0 ? [counted(foreign_workspaces, 'other workspace')] : []),
    ...(foreign_sets > 0 ? [counted(foreign_sets, 'other variable set')] : []),
  ]
  return others.length === 0 ? undefined : `it has ${others.join(' and ')}`
}

/** A number with its noun: `1 run`, `2 runs`. */
export function counted(count: number, noun: string) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
