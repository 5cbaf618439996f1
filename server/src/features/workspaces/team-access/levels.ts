import { invalid } from '../../../errors.ts'

/** One part of an access that can be set by itself: its column, its name in the interface and in messages. */
export type Part<Column extends string> = { column: Column; pointer: string; label: string; value: unknown }

/**
 * The columns of an access after `input`, on top of what it is now. A fixed level brings its parts along; setting one
 * of them to something else is `invalid`, in the words of the public API.
 */
export function levelColumns<Column extends string, Columns extends Record<Column, unknown>>(
  levels: { fixed: Readonly<Record<string, Columns>>; access: string; current: Columns },
  parts: readonly Part<Column>[],
): Columns {
  const { fixed, access, current } = levels
  const level = fixed[access]
  if (level) {
    for (const { column, pointer, label, value } of parts) {
      if (value === undefined || value === level[column]) continue
      throw invalid(
        `${label} is read-only when access level is '${access}'; use the 'custom' access level to set this attribute.`,
        pointer,
      )
    }
    return level
  }
  const given = parts.filter(({ value }) => value !== undefined).map(({ column, value }) => [column, value])
  return { ...current, ...Object.fromEntries(given) }
}
