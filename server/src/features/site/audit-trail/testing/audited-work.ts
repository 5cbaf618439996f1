import { EMPTY_ARCHIVE, createConfigurationVersion, uploadConfiguration } from '../../../../testing/runs.ts'
import { md5, rawState, stateVersionBody } from '../../../../testing/state-versions.ts'
import { tokenContext } from '../../../tasks/task-results/deliver.ts'
import { type MakeChange, type AuditFixtures, data, one } from './audit-fixtures.ts'

const NOBODY = { token: undefined, by: { id: null, tokenId: null } }

/** A configuration version that is not the workspace's current one. */
async function oldConfiguration(w: AuditFixtures) {
  const { workspaceId, version } = await w.configured()
  await uploadConfiguration(w.app, { user: w.admin, workspaceId })
  return version
}

/** A pending task result, and the token that was sent to the receiver. */
async function runningResult(w: AuditFixtures) {
  const { workspaceId } = await w.configured()
  await w.workspaceTask(workspaceId, 'pre_plan')
  const run = await w.run(workspaceId)
  const result = await w.app.db
    .selectFrom('task_results')
    .select(['id', 'access_token'])
    .where('run_id', '=', run)
    .executeTakeFirstOrThrow()
  const token = await w.app.db
    .selectFrom('tokens')
    .select('id')
    .where('task_result_id', '=', result.id)
    .executeTakeFirstOrThrow()
  if (result.access_token === null) throw new Error('the result has no token')
  const text = w.app.secrets.openText(result.access_token, tokenContext(result.id))
  return { id: result.id, token: text, by: { id: result.id, tokenId: token.id } }
}

async function canceledRun(w: AuditFixtures) {
  const run = await w.run((await w.configured()).workspaceId)
  await w.jobOf(run)
  await w.send('POST', `/runs/${run}/actions/cancel`, {})
  w.app.clock.advance(w.app.config.cancelGrace + 1)
  return run
}

async function waitingRun(w: AuditFixtures) {
  const { workspaceId } = await w.configured()
  await w.jobOf(await w.run(workspaceId))
  return w.run(workspaceId)
}

async function runTrigger(w: AuditFixtures) {
  const body = data('run-triggers', {}, { sourceable: one('workspaces', await w.workspace()) })
  return (await w.send('POST', `/workspaces/${await w.workspace()}/run-triggers`, body)).id
}

async function softDeleted(w: AuditFixtures) {
  const { ids } = await w.states(2)
  await w.send('POST', `/state-versions/${ids[0]}/actions/soft_delete_backing_data`, {})
  return { ids: [ids[0]] }
}

async function softDeletedConfiguration(w: AuditFixtures) {
  const id = await oldConfiguration(w)
  await w.send('POST', `/configuration-versions/${id}/actions/soft_delete_backing_data`, {})
  return { ids: [id] }
}

/** Activity in workspaces: configurations, runs, states and task results. */
export const WORK: Record<string, MakeChange> = {
  'POST /workspaces/:workspaceId/configuration-versions': async (w) => ({
    ids: [await w.workspace()],
    body: data('configuration-versions'),
  }),
  'PUT /_objects/configurations/:token': async (w) => {
    const workspaceId = await w.workspace()
    const version = await createConfigurationVersion(w.app, { user: w.admin, workspaceId })
    const by = { id: w.admin.id, tokenId: null }
    return { token: undefined, by, url: new URL(version.attributes['upload-url']).pathname, body: EMPTY_ARCHIVE }
  },
  'POST /configuration-versions/:id/actions/archive': async (w) => ({
    ids: [await oldConfiguration(w)],
  }),
  'POST /configuration-versions/:id/actions/soft_delete_backing_data': async (w) => ({
    ids: [await oldConfiguration(w)],
  }),
  'POST /configuration-versions/:id/actions/restore_backing_data': softDeletedConfiguration,
  'POST /configuration-versions/:id/actions/permanently_delete_backing_data': softDeletedConfiguration,

  'POST /workspaces/:workspaceId/run-triggers': async (w) => ({
    ids: [await w.workspace()],
    body: data('run-triggers', {}, { sourceable: one('workspaces', await w.workspace()) }),
  }),
  'DELETE /run-triggers/:triggerId': async (w) => ({ ids: [await runTrigger(w)] }),
  'POST /runs': async (w) => ({
    body: data('runs', {}, { workspace: one('workspaces', (await w.configured()).workspaceId) }),
  }),
  'POST /runs/:runId/actions/apply': async (w) => ({ ids: [await w.plannedRun()], body: {} }),
  'POST /runs/:runId/actions/discard': async (w) => ({ ids: [await w.plannedRun()], body: {} }),
  'POST /runs/:runId/actions/cancel': async (w) => ({
    ids: [await w.run((await w.configured()).workspaceId)],
    body: {},
  }),
  'POST /runs/:runId/actions/force-cancel': async (w) => ({
    ids: [await canceledRun(w)],
    body: {},
  }),
  'POST /runs/:runId/actions/force-execute': async (w) => ({
    ids: [await waitingRun(w)],
    body: {},
  }),
  'POST /runs/:runId/comments': async (w) => ({
    ids: [await w.run((await w.configured()).workspaceId)],
    body: data('comments', { body: 'a comment' }),
  }),

  'POST /workspaces/:workspaceId/state-versions': async (w) => ({
    ids: [await w.lockedWorkspace()],
    body: stateVersionBody(rawState({ serial: 1 })),
  }),
  'PATCH /workspaces/:workspaceId/state-versions': async (w) => {
    const { workspace, ids } = await w.states(2)
    return {
      ids: [workspace],
      body: data('state-versions', {}, { 'rollback-state-version': one('state-versions', ids[0]) }),
    }
  },
  'PUT /_objects/v1/object/:objectId': async (w) => {
    const raw = rawState({ serial: 1 })
    const path = `/workspaces/${await w.lockedWorkspace()}/state-versions`
    const version = await w.send('POST', path, data('state-versions', { serial: 1, md5: md5(raw) }))
    return { ...NOBODY, url: new URL(version.attributes['hosted-state-upload-url']).pathname, body: raw }
  },
  'POST /state-versions/:id/actions/soft_delete_backing_data': async (w) => ({
    ids: [(await w.states(2)).ids[0]],
    body: {},
  }),
  'POST /state-versions/:id/actions/restore_backing_data': softDeleted,
  'POST /state-versions/:id/actions/permanently_delete_backing_data': softDeleted,

  'PATCH /task-results/:id/callback': async (w) => {
    const { id, token, by } = await runningResult(w)
    return { ids: [id], token, by, body: data('task-results', { status: 'passed' }) }
  },
  'POST /task-results/:id/actions/redeliver': async (w) => ({
    ids: [(await runningResult(w)).id],
  }),
  'POST /organizations/:organization/actions/make-sample': (w) => ({ ids: [w.organization.name] }),
  'DELETE /organizations/:organization/sample': async (w) => {
    await w.send('POST', `/organizations/${w.organization.name}/actions/make-sample`)
    return { ids: [w.organization.name] }
  },

  'DELETE /agents/:agentId': async (w) => {
    const id = w.app.newId('agent')
    const row = { id, agent_pool_id: await w.pool(), name: id, last_ping_at: new Date(0), created_at: new Date(0) }
    await w.app.db
      .insertInto('agents')
      .values({ ...row, exited_at: new Date(0), version: '1', os: 'linux', arch: 'amd64' })
      .execute()
    return { ids: [id] }
  },
}
