import { createHash } from 'node:crypto'
import type { TestApp } from './app.ts'

/** A raw state as the engine writes it, with `outputs` of strings and one resource for each name. */
export function rawState(
  input: {
    serial?: number
    lineage?: string
    outputs?: Record<string, unknown>
    resources?: string[]
    padding?: number
  } = {},
) {
  const outputs = Object.entries(input.outputs ?? {}).map(([name, output]) => [
    name,
    typeof output === 'string' ? { value: output, type: 'string' } : output,
  ])
  return Buffer.from(
    `${JSON.stringify(
      {
        version: 4,
        terraform_version: '1.11.4',
        serial: input.serial ?? 1,
        lineage: input.lineage ?? '8c6a3f0e-1f5c-4c2f-9d54-0d5c9f6f2a11',
        outputs: Object.fromEntries(outputs),
        resources: (input.resources ?? []).map((name) => ({
          mode: 'managed',
          type: 'terraform_data',
          name,
          provider: 'provider["terraform.io/builtin/terraform"]',
          instances: [{ schema_version: 0, attributes: { id: name, input: 'x'.repeat(input.padding ?? 0) } }],
        })),
        check_results: null,
      },
      null,
      2,
    )}\n`,
  )
}

export function md5(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}

/** The body of a request that creates a version of `raw`; `attributes` replace what follows from it. */
export function stateVersionBody(raw: Buffer, attributes: Record<string, unknown> = {}) {
  const { serial, lineage } = JSON.parse(raw.toString())
  return {
    data: {
      type: 'state-versions',
      attributes: { serial, lineage, md5: md5(raw), state: raw.toString('base64'), ...attributes },
    },
  }
}

/** Uploads to a signed URL, as clients do: without a token. */
export async function upload(app: TestApp, url: string, content: Buffer) {
  return app.request({ method: 'PUT', url: new URL(url).pathname, body: content })
}
