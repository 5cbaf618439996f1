import type { TestApp } from '../../../../testing/app.ts'
import { atEnd } from '../../../../testing/cleanup.ts'
import { type FakeAgent, createFakeAgent } from '../../../../testing/fake-agent.ts'
import { type TestReceiver, startReceiver } from '../../../../testing/receiver.ts'
import { type RunSetting, createRunSetting } from '../../../../testing/runs.ts'
import { startNotificationDeliveries } from '../delivery-loop.ts'

/** A workspace that is ready for runs, with an agent and a receiver of its notifications. The user is a site administrator. */
export type NotifiedSetting = RunSetting & { agent: FakeAgent; receiver: TestReceiver }

export const RUN_TRIGGERS = [
  'run:created',
  'run:planning',
  'run:needs_attention',
  'run:applying',
  'run:completed',
  'run:errored',
]

export async function createNotifiedSetting(
  app: TestApp,
  attributes: Record<string, unknown> = {},
): Promise<NotifiedSetting> {
  const setting = await createRunSetting(app, attributes, { isSiteAdmin: true })
  return { ...setting, agent: await createFakeAgent(app), receiver: await startReceiver() }
}

/** Sends notifications until the test ends, or the file. */
export function startSending(app: TestApp, connections?: Parameters<typeof startNotificationDeliveries>[1]) {
  const deliveries = startNotificationDeliveries(app.as(), connections)
  atEnd(() => deliveries[Symbol.asyncDispose]())
}

/** Creates a configuration through the API, by default an enabled generic one of all run triggers; returns its id. Its verification is not counted. */
export async function configure(
  app: TestApp,
  setting: Pick<NotifiedSetting, 'user' | 'workspaceId' | 'receiver'>,
  {
    at = `/workspaces/${setting.workspaceId}`,
    relationships = {},
    ...attributes
  }: Record<string, unknown> & { at?: string; relationships?: object } = {},
): Promise<string> {
  const isMail = attributes['destination-type'] === 'email'
  const defaults = {
    name: 'chat',
    'destination-type': 'generic',
    enabled: true,
    triggers: RUN_TRIGGERS,
    ...(!isMail && { url: setting.receiver.url }),
  }
  const response = await app.request({
    method: 'POST',
    url: `/api/v2${at}/notification-configurations`,
    token: setting.user.token,
    body: {
      data: { type: 'notification-configurations', attributes: { ...defaults, ...attributes }, relationships },
    },
  })
  if (response.status !== 201) throw new Error(`the configuration was refused: ${response.text}`)
  if (!isMail && !('url' in attributes)) setting.receiver.requests.pop()
  return response.json().data.id
}

/** A generic payload about a run. */
export type RunPayload = {
  payload_version: number
  notification_configuration_id: string
  run_id: string
  run_url: string
  run_message: string
  run_created_by: string | null
  notifications: { message: string; trigger: string; run_status: string; run_updated_by: string | null }[]
}

export const payloads = ({ requests }: Pick<TestReceiver, 'requests'>) =>
  requests.map(({ payload }) => payload as unknown as RunPayload)

export const triggersOf = (receiver: Pick<TestReceiver, 'requests'>, runId?: string) =>
  payloads(receiver)
    .filter(({ run_id }) => runId === undefined || run_id === runId)
    .map(({ notifications: [one] }) => `${one?.trigger} ${one?.run_status}`)

/** The notifications of a configuration, the latest first. */
export async function listNotifications(app: TestApp, { user }: Pick<RunSetting, 'user'>, id: string, query = '') {
  const response = await app.request({
    url: `/api/v2/notification-configurations/${id}/notifications${query}`,
    token: user.token,
  })
  return response.json().data
}

/** The next job of the run, after any jobs of other runs, which end. */
export async function takeJob({ agent }: Pick<NotifiedSetting, 'agent'>, run: string) {
  for (;;) {
    const job = await agent.take()
    if (job.runId === run) return job
    await job.finish({ hasChanges: false })
  }
}
