import type { Variable } from './variables.ts'

/** Terraform variables as a `.tfvars` file; the values of sensitive ones are not known here. */
export function tfvarsText(variables: readonly Variable[]) {
  return linesOf(
    variables,
    'terraform',
    (key, value, isHcl) => `${key} = ${isHcl ? value : JSON.stringify(value).replaceAll(/([$%])\{/g, '$1$1{')}`,
  )
}

/** Environment variables as a `.env` file. */
export function envText(variables: readonly Variable[]) {
  return linesOf(variables, 'env', (key, value) => `${key}=${/^[\w./:@+-]*$/.test(value) ? value : quoted(value)}`)
}

function quoted(value: string) {
  return `"${value.replaceAll(/["\\$]/g, '\\$&').replaceAll('\n', '\\n')}"`
}

function linesOf(
  variables: readonly Variable[],
  category: string,
  line: (key: string, value: string, isHcl: boolean) => string,
) {
  return variables
    .filter(({ attributes }) => attributes.category === category)
    .map(({ attributes: { key, value, hcl } }) => (value === null ? `# ${key} is sensitive` : line(key, value, hcl)))
    .map((text) => `${text}\n`)
    .join('')
}
