import { listNames } from './route-access.ts'

/** An event of the audit trail by the type of its resource and its action: `workspace lock`. */
export type AuditEventName = `${string} ${string}`

/**
 * The events that a route records in the audit trail, each once, however often the request causes it. A route that writes and records
 * nothing gives the reason.
 */
export type RouteAudit = AuditEventName | readonly [AuditEventName, ...AuditEventName[]] | { readonly none: string }

/** The names of the events; none for a route that records nothing. */
export function auditEventNames(audit: RouteAudit): readonly AuditEventName[] {
  if (typeof audit === 'string') return [audit]
  return 'none' in audit ? [] : audit
}

/** The sentence of the API's documentation: ``The audit trail records `workspace lock`.`` */
export function describeAudit(audit: RouteAudit) {
  const isNothing = typeof audit === 'object' && 'none' in audit
  return isNothing
    ? `The audit trail records nothing: ${audit.none}.`
    : `The audit trail records ${listNames(auditEventNames(audit))}.`
}
