import type { Ctx } from '../../../app.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { requireSample } from './access.ts'
import type { Sample } from './sample.ts'
import * as store from './store.ts'

/** The sample of an organization. Throws `not-found` where there is none. */
export async function showSample(ctx: Ctx, organizationName: string): Promise<Sample> {
  const { organization, sample } = await requireSample(ctx, organizationName)
  const all = await store.findContents(ctx.db, sample)
  const { network, app, trigger, project, set, task, attachments } = all
  const ids = [network, app].flatMap((workspace) => workspace?.id ?? [])
  const [workspaces, projects] = await Promise.all([
    listReadableWorkspaces(ctx, [...ids, ...attachments.map((attachment) => attachment.workspace_id)]),
    listReadableProjects(ctx, project ? [project.id] : []),
  ])
  const readable = new Set(workspaces.map(({ id }) => id))
  const seen = <T extends { id: string }>(part: T | undefined) => (part && readable.has(part.id) ? part : undefined)
  const sees = { network: seen(network), app: seen(app) }
  return {
    row: sample,
    organizationName: organization.name,
    isComplete:
      ![network, app, trigger, project, set, task].includes(undefined) &&
      ids.every((id) => attachments.some((attachment) => attachment.workspace_id === id)),
    contents: {
      ...sees,
      trigger: sees.network && sees.app && trigger,
      project: projects.length > 0 ? project : undefined,
      set: projects.length > 0 && organization.can.has('variable-sets:read') ? set : undefined,
      task: organization.can.has('run-tasks:read') ? task : undefined,
      attachments: attachments.filter((attachment) => readable.has(attachment.workspace_id)),
    },
  }
}
