import type { AuditTrailResponse } from '@groundstate/contract/audit-trail'

export type AuditEvent = AuditTrailResponse['data'][number]

const COLUMNS =
  'timestamp actor_id actor action resource_type resource_id details organization_id token_id address user_agent request_id id'.split(
    ' ',
  )

/** Formats of an export by file extension. `lines` has the text of a batch. */
export const EXPORT_FORMATS = {
  jsonl: {
    contentType: 'application/jsonl; charset=utf-8',
    name: 'JSON Lines',
    head: '',
    lines: (events: readonly AuditEvent[]) => events.map((event) => `${JSON.stringify(event)}\n`).join(''),
  },
  csv: {
    contentType: 'text/csv; charset=utf-8',
    name: 'CSV',
    head: csvLine(COLUMNS),
    lines: (events: readonly AuditEvent[]) => events.map(csvEvent).join(''),
  },
} as const

function csvEvent({ id, timestamp, auth, request, resource }: AuditEvent) {
  return csvLine([
    new Date(timestamp).toISOString(),
    auth.accessor_id,
    auth.description,
    resource.action,
    resource.type,
    resource.id,
    resource.meta && JSON.stringify(resource.meta),
    auth.organization_id,
    auth.token_id,
    auth.address,
    auth.user_agent,
    request.id,
    id,
  ])
}

/** A line of CSV (RFC 4180). */
function csvLine(values: readonly (string | null)[]) {
  return `${values.map((value) => csvField(value ?? '')).join(',')}\r\n`
}

/** Spreadsheets evaluate text that starts like a formula: an apostrophe prevents that. */
function csvField(value: string) {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
