import { invalid } from '../../../errors.ts'
import type { GrantColumns, GrantKind } from './grant-kind.ts'

/** The attributes of a request to create or change a grant. */
export type GrantInput = { access?: string }

/**
 * The columns of a grant after `input`, on top of what it is now. A fixed level brings its parts along; setting one of
 * them to something else is `invalid`, in the words of the public API.
 */
export function grantColumns(
  { parts, levels, custom }: GrantKind,
  input: GrantInput & { access: string },
  current?: GrantColumns,
): GrantColumns {
  const { access } = input
  const level = levels[access]
  const columns = parts.map(([column, path, label]) => {
    const given = attributeAt(input, path)
    if (level === undefined) return [column, given ?? current?.[column] ?? custom[column]]
    if (given === undefined || given === level[column]) return [column, level[column]]
    throw invalid(
      `${label} is read-only when access level is '${access}'; use the 'custom' access level to set this attribute.`,
      `/data/attributes/${path}`,
    )
  })
  return Object.fromEntries(columns) as GrantColumns
}

function attributeAt(attributes: unknown, path: string) {
  return path
    .split('/')
    .reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], attributes)
}

/** The attributes that the columns are shown as. */
export function grantAttributes({ parts }: GrantKind, columns: GrantColumns) {
  const attributes: Record<string, unknown> = {}
  for (const [column, path] of parts) {
    const [first = '', second] = path.split('/')
    if (second === undefined) attributes[first] = columns[column]
    else attributes[first] = { ...(attributes[first] as object | undefined), [second]: columns[column] }
  }
  return attributes
}
