import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { FolderInput, Lock, LockOpen, Play, Tag as TagIcon, Tags } from 'lucide-react'
import { getData, request } from '../../api/client.ts'
import type { BulkAction, BulkField } from '../../components/bulk.ts'
import { type Tag, readTag, tagLinkage, tagProblem } from './tag-filter.ts'
import { type ListedWorkspace, findProjects } from './workspaces.ts'

type WorkspaceAction = BulkAction<ListedWorkspace>

const TAG: BulkField = {
  kind: 'text',
  name: 'tag',
  label: 'Tag',
  hint: 'A key, or key=value.',
  maxLength: 510,
  problem: (value) => tagProblem(readTag(value)),
}

function tagObstacle({ attributes }: ListedWorkspace) {
  return attributes.permissions['can-manage-tags'] ? undefined : 'you can’t change its tags'
}

export const LOCK: WorkspaceAction = {
  label: 'Lock',
  icon: Lock,
  about: 'Until they are unlocked, no runs start and others can’t change the state.',
  fields: [
    {
      kind: 'text',
      name: 'reason',
      label: 'Reason (optional)',
      hint: 'Shown to everyone while the workspace is locked.',
    },
  ],
  done: 'locked',
  obstacle: ({ attributes }) => {
    if (!attributes.permissions['can-lock']) return 'you can’t lock it'
    return attributes.locked ? 'already locked' : undefined
  },
  act: async ({ id }, { reason = '' }) =>
    request('POST', `/workspaces/${id}/actions/lock`, reason.trim() === '' ? {} : { reason: reason.trim() }),
}

export const UNLOCK: WorkspaceAction = {
  label: 'Unlock',
  icon: LockOpen,
  about: 'Releases your own locks. Queued runs can then start.',
  done: 'unlocked',
  obstacle: ({ attributes, relationships }) => {
    if (!attributes.permissions['can-unlock']) return 'you can’t unlock it'
    if (relationships['locked-by'].data?.type === 'runs') return 'locked by its active run'
    return attributes.locked ? undefined : 'not locked'
  },
  act: async ({ id }) => request('POST', `/workspaces/${id}/actions/unlock`, {}),
}

const ADD_TAG: WorkspaceAction = {
  label: 'Add tag',
  icon: TagIcon,
  about: 'Replaces the value of an existing tag with the same key.',
  fields: [TAG],
  done: 'tagged',
  obstacle: tagObstacle,
  act: async ({ id }, { tag = '' }) =>
    request('POST', `/workspaces/${id}/tag-bindings`, { data: [tagLinkage(readTag(tag))] }),
}

const REMOVE_TAG: WorkspaceAction = {
  label: 'Remove tag',
  icon: Tags,
  about: 'Tags inherited from a project remain.',
  fields: [TAG],
  done: 'untagged',
  obstacle: tagObstacle,
  act: removeTag,
}

export const START_RUN: WorkspaceAction = {
  label: 'Start run',
  icon: Play,
  about: 'Each workspace plans its current configuration.',
  fields: [
    {
      kind: 'radio',
      name: 'kind',
      label: 'Run type',
      options: [
        { value: 'plan', text: 'Plan only', about: 'Previews the changes. Can’t be applied.' },
        {
          value: 'apply',
          text: 'Plan and apply',
          about: 'Applied once the plan is approved, or automatically where auto-apply is on.',
        },
      ],
    },
    { kind: 'text', name: 'message', label: 'Message (optional)', hint: 'The title of the runs.' },
  ],
  done: 'started',
  obstacle: runObstacle,
  act: async ({ id }, { kind, message = '' }) =>
    request('POST', '/runs', {
      data: {
        type: 'runs',
        attributes: {
          ...(kind !== 'apply' && { 'plan-only': true }),
          ...(message.trim() !== '' && { message: message.trim() }),
        },
        relationships: { workspace: { data: { type: 'workspaces', id } } },
      },
    }),
}

function move(organization: string): WorkspaceAction {
  return {
    label: 'Move to project',
    icon: FolderInput,
    about: 'Access, variable sets and tags of the new project replace those of the old one immediately.',
    fields: [
      {
        kind: 'pick',
        name: 'project',
        label: 'Select project',
        about: ['projects', organization, 'create-workspace'],
        load: findProjects(organization, { permission: 'create-workspace' }),
        problem: (value) => (value === '' ? 'select a project' : undefined),
      },
    ],
    done: 'moved',
    obstacle: ({ project }) =>
      project?.attributes.permissions['can-move-workspace'] === false
        ? `you can’t move workspaces out of ${project.attributes.name}`
        : undefined,
    act: async ({ id }, { project }) =>
      request('POST', `/projects/${project}/relationships/workspaces`, { data: [{ type: 'workspaces', id }] }),
  }
}

export function workspaceActions(organization: string): readonly WorkspaceAction[] {
  return [LOCK, UNLOCK, ADD_TAG, REMOVE_TAG, START_RUN, move(organization)]
}

function runObstacle({ attributes }: ListedWorkspace) {
  if (!attributes.permissions['can-queue-run']) return 'you can’t start runs in it'
  if (attributes['execution-mode'] === 'local') return 'its runs execute in the CLI (execution mode local)'
  return attributes['has-configuration'] ? undefined : 'no configuration yet: upload one first'
}

/** Without "=", removes the key whatever its value. */
async function removeTag({ id }: ListedWorkspace, { tag: text = '' }: { tag?: string }) {
  const tag = readTag(text)
  const data = await getData<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${id}/tag-bindings`)
  const bound = data.map(({ attributes: { key, value } }) => ({ key, value }))
  const rest = bound.filter(({ key, value }) => key !== tag.key || (tag.value !== '' && value !== tag.value))
  if (rest.length === bound.length) throw new Error('the workspace itself has no such tag')
  await replaceTags(id, bound, rest)
}

/** Replaces the tags of the workspace itself. Flat tags survive the replacement of its bindings: they are removed separately. */
export async function replaceTags(workspaceId: string, saved: readonly Tag[], tags: readonly Tag[]) {
  const path = `/workspaces/${workspaceId}/relationships`
  const isRemoved = ({ key, value }: Tag) => value === '' && !tags.some((tag) => tag.key === key)
  const removed = saved.filter(isRemoved).map(({ key }) => ({ type: 'tags', attributes: { name: key } }))
  await request('PATCH', `${path}/tag-bindings`, { data: tags.map(tagLinkage) })
  if (removed.length > 0) await request('DELETE', `${path}/tags`, { data: removed })
}
