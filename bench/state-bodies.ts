import { createHash } from 'node:crypto'

export const KB = 1024
export const MB = 1024 * KB

/** A state, the request that creates a version of it, and the request for a version that is uploaded later. */
export type Body = { raw: Buffer; inline: Buffer; pending: Buffer }

/** Serials 1 to `count`, created before a measurement, to keep the client's processor time low. */
export function bodies(size: number, count: number): Body[] {
  return Array.from({ length: count }, (_, index) => bodyOf(stateOf(index + 1, size), index + 1))
}

const LINEAGE = '0c8f6c1e-6f0b-4f0e-9d39-0f4f3f7f6a11'

export function bodyOf(raw: Buffer, serial: number, { isInline = true } = {}): Body {
  const attributes = { serial, lineage: LINEAGE, md5: createHash('md5').update(raw).digest('hex') }
  const document = (extra: object) =>
    Buffer.from(JSON.stringify({ data: { type: 'state-versions', attributes: { ...attributes, ...extra } } }))
  return {
    raw,
    inline: isInline ? document({ state: raw.toString('base64') }) : Buffer.alloc(0),
    pending: document({}),
  }
}

/** A realistic state of about `size` bytes, with resources of about 1 KB. */
export function stateOf(serial: number, size: number) {
  const resources: object[] = []
  for (let index = 0; index * 1300 < size - 700; index += 1) {
    const digest = createHash('sha256').update(`${serial}/${index}`).digest('hex')
    resources.push({
      mode: 'managed',
      type: 'terraform_data',
      name: `item_${index}`,
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: [
        {
          schema_version: 0,
          attributes: {
            id: digest,
            input: `${digest} `.repeat(8),
            output: `${digest} `.repeat(4),
            triggers_replace: null,
          },
          sensitive_attributes: [],
        },
      ],
    })
  }
  const outputs = { region: { value: 'eu-central-1', type: 'string' } }
  const state = {
    version: 4,
    terraform_version: '1.11.4',
    serial,
    lineage: LINEAGE,
    outputs,
    resources,
    check_results: null,
  }
  return Buffer.from(`${JSON.stringify(state, null, 2)}\n`)
}
