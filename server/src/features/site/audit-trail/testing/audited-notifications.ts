import { type AuditFixtures, type MakeChange, SECRET, data } from './audit-fixtures.ts'

const configuration = (w: AuditFixtures, attributes: object = {}) =>
  data('notification-configurations', {
    name: w.name('notifications'),
    'destination-type': 'generic',
    url: `${w.receiver.url}?token=${SECRET}`,
    token: SECRET,
    ...attributes,
  })

async function configured(w: AuditFixtures, attributes: object = {}) {
  const path = `/workspaces/${await w.workspace()}/notification-configurations`
  return (await w.send('POST', path, configuration(w, attributes))).id as string
}

/** A notification that its configuration has given up. */
async function notification(w: AuditFixtures) {
  const id = w.app.newId('ntf')
  const receiver = await configured(w, { enabled: true })
  const now = w.app.now()
  await w.app.db
    .insertInto('notifications')
    .values({
      id,
      configuration_id: receiver,
      receiver_id: receiver,
      organization_id: w.organization.id,
      trigger: 'run:created',
      facts: JSON.stringify({ message: 'Run Created', workspace_name: 'w', organization_name: w.organization.name }),
      status: 'failed',
      deadline_at: now,
      created_at: now,
    })
    .execute()
  return id
}

const ONE = '/notification-configurations/:notificationConfigurationId'
const one: MakeChange = async (w) => ({ ids: [await configured(w)] })

/** Notification configurations, and what users choose. */
export const NOTIFICATION_CHANGES: Record<string, MakeChange> = {
  'POST /workspaces/:subscribableId/notification-configurations': async (w) => ({
    ids: [await w.workspace()],
    body: configuration(w),
  }),
  'POST /projects/:subscribableId/notification-configurations': async (w) => ({
    ids: [await w.project()],
    body: configuration(w),
  }),
  'POST /teams/:subscribableId/notification-configurations': async (w) => ({
    ids: [await w.team()],
    body: configuration(w),
  }),
  [`PATCH ${ONE}`]: async (w) => ({
    ids: [await configured(w)],
    body: data('notification-configurations', { token: `${SECRET}-2`, url: `${w.receiver.url}/b?token=${SECRET}` }),
  }),
  [`DELETE ${ONE}`]: one,
  [`POST ${ONE}/actions/verify`]: one,
  [`POST ${ONE}/actions/enable`]: one,
  [`POST ${ONE}/actions/disable`]: one,
  'POST /notifications/:notificationId/actions/redeliver': async (w) => ({ ids: [await notification(w)] }),
  'PATCH /account/notification-settings': async (w) => ({
    ...w.by(await w.person()),
    body: data('notification-settings', { 'configured-mails': false }),
  }),
}
