import { type AuditEventName, auditEventNames } from '../../../../http/route-access.ts'
import type { TestApp } from '../../../../testing/app.ts'
import type { MakeChange } from './audit-fixtures.ts'
import { ACCOUNTS } from './audited-accounts.ts'
import { NOTIFICATION_CHANGES } from './audited-notifications.ts'
import { POLICY_CHANGES } from './audited-policies.ts'
import { REGISTRY_CHANGES } from './audited-registry.ts'
import { REPOSITORY_CHANGES } from './audited-repositories.ts'
import { SETTING_CHANGES } from './audited-settings.ts'
import { WORK } from './audited-work.ts'

/** A change for each writing route that records events. */
export const CHANGES: Record<string, MakeChange> = {
  ...SETTING_CHANGES,
  ...REPOSITORY_CHANGES,
  ...REGISTRY_CHANGES,
  ...POLICY_CHANGES,
  ...NOTIFICATION_CHANGES,
  ...WORK,
  ...ACCOUNTS,
}

/** The writing routes, such as `POST /workspaces/:id/actions/lock`, with their declared events. */
export function writingRoutes(app: TestApp): { route: string; events: readonly AuditEventName[] }[] {
  return app.server.routes
    .filter(({ method }) => method !== 'GET')
    .map(({ method, url, options: { audit } }) => {
      if (audit === undefined) throw new Error(`${method} ${url} writes and does not declare what it records`)
      return { route: `${method} ${url.replace('/api/v2', '')}`, events: auditEventNames(audit) }
    })
}

/** The writing routes that record events, with their changes. */
export function auditedChanges(app: TestApp) {
  return writingRoutes(app).flatMap(({ route, events }) => {
    const make = CHANGES[route]
    return make ? [{ route, events, make }] : []
  })
}
