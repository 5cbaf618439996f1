import { pino } from 'pino'
import { createApp } from '../../../../app.ts'
import { SYSTEM } from '../../../../auth/actor.ts'
import { readConfig } from '../../../../config.ts'
import { transact } from '../../../../db/db.ts'
import { REACTIONS } from '../../../list.ts'
import { updateWorkspace } from '../../../workspaces/workspaces/service.ts'

/*
 * A server that changes the description of a workspace and is killed before the commit (`statement`), or before the notification
 * (`commit`).
 */
const [, , databaseUrl = '', workspaceId = '', moment = ''] = process.argv
const config = readConfig({ ...process.env })
const app = await createApp(config, {
  databaseUrl,
  baseUrl: 'http://groundstate.test',
  log: pino({ level: 'silent' }),
  runsJobs: false,
  reactions: REACTIONS,
})
await transact({ ...app, actor: SYSTEM }, async (ctx) => {
  const input = { type: 'workspaces', attributes: { description: 'written' }, relationships: {} }
  await updateWorkspace(ctx, { id: workspaceId }, { input })
  if (moment === 'statement') process.kill(process.pid, 'SIGKILL')
})
process.kill(process.pid, 'SIGKILL')
