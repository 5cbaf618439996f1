import { createHash } from 'node:crypto'
import type { Answer } from './answers.ts'
import { PAGE_HEADERS } from './headers.ts'
import { type Html, html, raw } from './html.ts'
import type { OpenApi, Operation, Schema } from './openapi.ts'

const STYLE = `
:root { color-scheme: light dark; --ink: #17212b; --dim: #5a6875; --line: #d5dde4; --paper: #fff; --ground: #f1f4f7;
  --accent: #1d5fd1 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --dim: #9aa8b5; --line: #344250; --paper: #18212a;
  --ground: #0e151c; --accent: #7aa8ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 80px }
h1 { margin: 0 0 8px; font-size: 1.75rem }
h2 { margin: 40px 0 12px; font-size: 1.2rem; text-transform: capitalize }
a { color: var(--accent) }
nav { columns: 14em; margin: 24px 0; text-transform: capitalize }
nav a { display: block; padding: 2px 0 }
details, .plain { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 6px }
summary, .plain { padding: 8px 12px; overflow-wrap: anywhere }
summary { cursor: pointer }
code, .method { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.method { display: inline-block; min-width: 4.2em; font-weight: 700; color: var(--accent) }
.dim { color: var(--dim) }
.wide { overflow-x: auto; border-top: 1px solid var(--line); padding: 4px 12px 12px }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600; color: var(--dim) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
`
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** The document as a page for people: needs no script and nothing from elsewhere. */
export function openApiPage(api: OpenApi): Answer {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = api.tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === name)
    return html`<h2 id="${anchor(name)}">${name}</h2>
      ${own.map(({ path, method, operation }) => operationBlock(api, path, method, operation))}`
  })
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API · ${api.info.title}</title>
        <style>
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <main>
          <h1>${api.info.title} API</h1>
          <p>${api.info.description}</p>
          <p>For programs: <a href="/api/v2/openapi.json">openapi.json</a></p>
          <nav aria-label="Features">${api.tags.map(({ name }) => html`<a href="#${anchor(name)}">${name}</a> `)}</nav>
          ${sections}
        </main>
      </body>
    </html>`
  return {
    status: 200,
    headers: { ...PAGE_HEADERS, 'content-security-policy': POLICY },
    content: { type: 'text/html; charset=utf-8', data: page.markup },
  }
}

function anchor(tag: string) {
  return tag.replaceAll(' ', '-')
}

function operationBlock(api: OpenApi, path: string, method: string, operation: Operation): Html {
  const head = html`<span class="method">${method.toUpperCase()}</span> <code>${path}</code> ${
      operation.security ? html`<span class="dim">no token needed</span>` : ''
    }`
  const rows = [...queryRows(operation), ...bodyRows(api, operation)]
  if (rows.length === 0) return html`<div class="plain" id="${operation.operationId}">${head}</div>`
  return html`<details id="${operation.operationId}">
    <summary>${head}</summary>
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ name, value, required }) =>
              html`<tr>
                <td><code>${name}</code>${required ? '' : html` <span class="dim">optional</span>`}</td>
                <td>${value}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`
}

type Row = { name: string; value: string; required: boolean }

function queryRows(operation: Operation): Row[] {
  return operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => ({ name: `?${name}`, value: valueText(schema), required: false }))
}

function bodyRows(api: OpenApi, { requestBody }: Operation): Row[] {
  return Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => {
    const name = schema.$ref?.split('/').at(-1) ?? ''
    const body = api.components.schemas[name]
    if (!body) return [{ name: 'body', value: type, required: true }]
    return fieldRows(body, '', true)
  })
}

/** The fields of a schema in the order they stand, those of objects within it by their path. */
function fieldRows(schema: Schema, path: string, required: boolean): Row[] {
  const shape = [schema, ...alternatives(schema)].find((one) => one.properties)
  if (!shape?.properties) return [{ name: path === '' ? 'body' : path, value: valueText(schema), required }]
  const needed = shape.required ?? []
  return Object.entries(shape.properties).flatMap(([name, inner]) =>
    fieldRows(inner, path === '' ? name : `${path}.${name}`, required && needed.includes(name)),
  )
}

function alternatives(schema: Schema) {
  return schema.anyOf ?? schema.oneOf ?? []
}

function valueText(schema: Schema): string {
  const choices = alternatives(schema)
  if (choices.length > 0) return [...new Set(choices.map(valueText))].join(', or ')
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const type = [schema.type ?? 'any'].flat().join(' or ')
  const { items } = schema
  return [
    items ? `list of ${itemText(items)}` : type,
    limits(schema),
    typeof schema['format'] === 'string' ? schema['format'] : '',
    'default' in schema ? `default ${JSON.stringify(schema['default'])}` : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function itemText(items: Schema): string {
  if (!items.properties) return valueText(items)
  return `{ ${fieldRows(items, '', true)
    .map(({ name, value, required }) => `${name}${required ? '' : '?'}: ${value}`)
    .join('; ')} }`
}

/** Bounds of a number or of a length; those of the number format itself say nothing. */
function limits(schema: Schema) {
  const least = schema['minimum'] ?? schema['minLength'] ?? schema['minItems']
  const most = schema['maximum'] ?? schema['maxLength'] ?? schema['maxItems']
  const isBound = (value: unknown) => typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER
  if (isBound(least) && isBound(most)) return `${String(least)} to ${String(most)}`
  if (isBound(most)) return `at most ${String(most)}`
  return isBound(least) && least !== 0 ? `at least ${String(least)}` : ''
}
