import type { SampleResource } from '@groundstate/contract/samples'
import { counted, keptBecause, type Sample } from './sample.ts'

type Removed = SampleResource['attributes']['removes'][number]

export function sampleResource({ row, organizationName, isComplete, contents }: Sample): SampleResource {
  const { network, app, set, task, project } = contents
  const reason = project && keptBecause(project)
  return {
    id: row.id,
    type: 'samples',
    attributes: {
      'created-at': row.created_at,
      'is-complete': isComplete,
      removes: removed(contents),
      keeps: project && reason !== undefined ? [{ type: 'projects', id: project.id, name: project.name, reason }] : [],
    },
    relationships: {
      organization: { data: { id: organizationName, type: 'organizations' } },
      'created-by': linkage('users', row.created_by_user_id),
      project: linkage('projects', project?.id),
      network: linkage('workspaces', network?.id),
      app: linkage('workspaces', app?.id),
      'variable-set': linkage('varsets', set?.id),
      task: linkage('tasks', task?.id),
      run: linkage('runs', network?.run_id),
    },
    links: { self: `/api/v2/organizations/${organizationName}/sample` },
  }
}

/** What goes with the sample, in the order in which a person would name it. */
function removed({ network, app, trigger, set, task, project, attachments }: Sample['contents']): Removed[] {
  const workspaces = [network, app].flatMap((workspace) => workspace ?? [])
  const own = new Set(workspaces.map(({ id }) => id))
  const elsewhere = attachments.filter((attachment) => !own.has(attachment.workspace_id))
  return [
    ...workspaces.map(({ id, name, runs, resource_count: resources }): Removed => {
      const detail = `${counted(runs, 'run')} and ${counted(resources, 'resource')} in its state`
      return { type: 'workspaces', id, name, detail }
    }),
    ...(trigger ? [{ ...trigger, type: 'run-triggers' as const, detail: null }] : []),
    ...(task ? [{ type: 'tasks' as const, id: task.id, name: task.name, detail: null }] : []),
    ...elsewhere.map(({ id, workspace_name: workspace }): Removed => {
      const detail = 'attached there by a person: the workspace stays, and its runs no longer ask the task'
      return { type: 'workspace-tasks', id, name: `${task?.name ?? 'the task'} on ${workspace}`, detail }
    }),
    ...(set ? [{ type: 'varsets' as const, id: set.id, name: set.name, detail: null }] : []),
    ...(project && keptBecause(project) === undefined
      ? [{ type: 'projects' as const, id: project.id, name: project.name, detail: null }]
      : []),
  ]
}

function linkage<Type extends string>(type: Type, id: string | null | undefined) {
  return { data: id === null || id === undefined ? null : { id, type } }
}
