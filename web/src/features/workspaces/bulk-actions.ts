import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { FolderInput, Lock, LockOpen, type LucideIcon, Play, Tag as TagIcon, Tags } from 'lucide-react'
import { getData, request } from '../../api/client.ts'
import { type Tag, readTag, tagLinkage } from './tag-filter.ts'
import type { ListedWorkspace } from './workspaces.ts'

/** An action on several workspaces, with one independent request for each. */
export type BulkAction = {
  label: string
  icon: LucideIcon
  about: string
  input?: 'reason' | 'tag' | 'project' | 'message'
  isOptional?: boolean
  /** Past participle for messages: "locked". */
  done: string
  /** Why it can't be done to a workspace, as far as the page knows. */
  obstacle: (workspace: ListedWorkspace) => string | undefined
  act: (workspace: ListedWorkspace, value: string) => Promise<unknown>
}

const tagObstacle = ({ attributes }: ListedWorkspace) =>
  attributes.permissions['can-manage-tags'] ? undefined : 'you can’t change its tags'

export const BULK_ACTIONS = {
  lock: {
    label: 'Lock',
    icon: Lock,
    about: 'Until they are unlocked, no runs start and others cannot change the state.',
    input: 'reason',
    isOptional: true,
    done: 'locked',
    obstacle: ({ attributes }) => {
      if (!attributes.permissions['can-lock']) return 'you can’t lock it'
      return attributes.locked ? 'it is already locked' : undefined
    },
    act: async ({ id }, reason) => request('POST', `/workspaces/${id}/actions/lock`, reason === '' ? {} : { reason }),
  },
  unlock: {
    label: 'Unlock',
    icon: LockOpen,
    about: 'Releases your own locks. Queued runs can then start.',
    done: 'unlocked',
    obstacle: ({ attributes, relationships }) => {
      if (!attributes.permissions['can-unlock']) return 'you can’t unlock it'
      if (relationships['locked-by'].data?.type === 'runs') return 'it is locked by its active run'
      return attributes.locked ? undefined : 'it is not locked'
    },
    act: async ({ id }) => request('POST', `/workspaces/${id}/actions/unlock`, {}),
  },
  addTag: {
    label: 'Add tag',
    icon: TagIcon,
    about: 'Replaces the value of an existing tag with the same key.',
    input: 'tag',
    done: 'tagged',
    obstacle: tagObstacle,
    act: async ({ id }, text) =>
      request('POST', `/workspaces/${id}/tag-bindings`, { data: [tagLinkage(readTag(text))] }),
  },
  removeTag: {
    label: 'Remove tag',
    icon: Tags,
    about: 'Tags inherited from a project remain.',
    input: 'tag',
    done: 'untagged',
    obstacle: tagObstacle,
    act: removeTag,
  },
  plan: {
    label: 'Start plan',
    icon: Play,
    about: 'Each workspace plans its current configuration. The runs are plan-only: they can’t be applied.',
    input: 'message',
    isOptional: true,
    done: 'started',
    obstacle: planObstacle,
    act: async ({ id }, message) =>
      request('POST', '/runs', {
        data: {
          type: 'runs',
          attributes: { 'plan-only': true, ...(message !== '' && { message }) },
          relationships: { workspace: { data: { type: 'workspaces', id } } },
        },
      }),
  },
  move: {
    label: 'Move to project',
    icon: FolderInput,
    about: 'Access, variable sets and tags of the new project replace those of the old one immediately.',
    input: 'project',
    done: 'moved',
    obstacle: ({ project }) =>
      project?.attributes.permissions['can-move-workspace'] === false
        ? `you can’t move workspaces out of ${project.attributes.name}`
        : undefined,
    act: async ({ id }, project) =>
      request('POST', `/projects/${project}/relationships/workspaces`, { data: [{ type: 'workspaces', id }] }),
  },
} as const satisfies Record<string, BulkAction>
export type BulkActionName = keyof typeof BULK_ACTIONS

function planObstacle({ attributes, relationships }: ListedWorkspace) {
  if (!attributes.permissions['can-queue-run']) return 'you can’t start runs in it'
  if (attributes['execution-mode'] === 'local') return 'its runs execute in the CLI (execution mode local)'
  return relationships['current-configuration-version'].data === null
    ? 'it has no configuration yet: run its first plan from the CLI'
    : undefined
}

/** Without "=", removes the key whatever its value. */
async function removeTag({ id }: ListedWorkspace, text: string) {
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

export type Outcome = { id: string; name: string; failure: string | undefined }

const CONCURRENCY = 4

/** Acts on the workspaces, a few concurrently, and reports each outcome. An abort only prevents further requests. */
export async function actOnEach(
  { obstacle, act }: Pick<BulkAction, 'obstacle' | 'act'>,
  { workspaces, value, signal }: { workspaces: readonly ListedWorkspace[]; value: string; signal: AbortSignal },
  onOutcome: (outcome: Outcome) => void,
) {
  const waiting = [...workspaces]
  async function work() {
    for (let workspace = waiting.shift(); workspace && !signal.aborted; workspace = waiting.shift()) {
      onOutcome({ id: workspace.id, name: workspace.attributes.name, failure: await failureOf(workspace) })
    }
  }
  async function failureOf(workspace: ListedWorkspace) {
    const known = obstacle(workspace)
    if (known !== undefined) return known
    try {
      await act(workspace, value)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}
