import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { get, request } from '../../api/client.ts'
import { type Tag, readTag } from './tag-filter.ts'
import type { ListedWorkspace } from './workspaces.ts'

/** Something that is done to several workspaces, one request for each: one that fails holds up no other. */
export type BulkAction = {
  label: string
  title: string
  about: string
  /** Input required before it begins. */
  asks?: 'reason' | 'tag' | 'project' | 'message'
  isOptional?: boolean
  /** Past participle for messages: "locked". */
  done: string
  /** Why it can't be done to a workspace; undefined where it can, as far as the page knows. */
  obstacle: (workspace: ListedWorkspace) => string | undefined
  act: (workspace: ListedWorkspace, value: string) => Promise<unknown>
}

const tagObstacle = ({ attributes }: ListedWorkspace) =>
  attributes.permissions['can-manage-tags'] ? undefined : 'you may not change its tags'

export const BULK_ACTIONS = {
  lock: {
    label: 'Lock',
    title: 'Lock workspaces',
    about: 'No run starts and no one else changes the state until you unlock them.',
    asks: 'reason',
    isOptional: true,
    done: 'locked',
    obstacle: ({ attributes }) => {
      if (!attributes.permissions['can-lock']) return 'you may not lock it'
      return attributes.locked ? 'it is locked already' : undefined
    },
    act: async ({ id }, reason) => request('POST', `/workspaces/${id}/actions/lock`, reason === '' ? {} : { reason }),
  },
  unlock: {
    label: 'Unlock',
    title: 'Unlock workspaces',
    about: 'Your own locks are released, and the runs that wait for them have their turn.',
    done: 'unlocked',
    obstacle: ({ attributes, relationships }) => {
      if (!attributes.permissions['can-unlock']) return 'you may not unlock it'
      if (relationships['locked-by'].data?.type === 'runs') return 'its run holds the lock until it ends'
      return attributes.locked ? undefined : 'it is not locked'
    },
    act: async ({ id }) => request('POST', `/workspaces/${id}/actions/unlock`, {}),
  },
  addTag: {
    label: 'Add a tag',
    title: 'Add a tag',
    about: 'A tag that a workspace has under this key gets the new value.',
    asks: 'tag',
    done: 'tagged',
    obstacle: tagObstacle,
    act: async ({ id }, text) =>
      request('POST', `/workspaces/${id}/tag-bindings`, { data: [tagLinkage(readTag(text))] }),
  },
  removeTag: {
    label: 'Remove a tag',
    title: 'Remove a tag',
    about: 'The tag is taken from the workspaces; what their project has stays.',
    asks: 'tag',
    done: 'without the tag',
    obstacle: tagObstacle,
    act: removeTag,
  },
  plan: {
    label: 'Start a plan',
    title: 'Start plans',
    about: 'Each workspace plans its current configuration. The runs are plan-only: none of them can be applied.',
    asks: 'message',
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
    label: 'Move to a project',
    title: 'Move to a project',
    about: 'Access, variable sets and tags of the new project apply at once, and those of the old one no longer do.',
    asks: 'project',
    done: 'moved',
    obstacle: ({ project }) =>
      project?.attributes.permissions['can-move-workspace'] === false
        ? `you may not move workspaces out of ${project.attributes.name}`
        : undefined,
    act: async ({ id }, project) =>
      request('POST', `/projects/${project}/relationships/workspaces`, { data: [{ type: 'workspaces', id }] }),
  },
} as const satisfies Record<string, BulkAction>
export type BulkActionName = keyof typeof BULK_ACTIONS

function planObstacle({ attributes, relationships }: ListedWorkspace) {
  if (!attributes.permissions['can-queue-run']) return 'you may not start runs in it'
  if (attributes['execution-mode'] === 'local') return 'its runs execute in the CLI (execution mode local)'
  return relationships['current-configuration-version'].data === null
    ? 'it has no configuration yet: upload one with its first plan'
    : undefined
}

function tagLinkage(attributes: Tag) {
  return { type: 'tag-bindings', attributes }
}

/** Without "=" the key goes, whatever its value. */
async function removeTag({ id }: ListedWorkspace, text: string) {
  const wanted = readTag(text)
  const { data } = await get<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${id}/tag-bindings`)
  const bound = data.map(({ attributes: { key, value } }) => ({ key, value }))
  const rest = bound.filter(({ key, value }) => key !== wanted.key || (wanted.value !== '' && value !== wanted.value))
  if (rest.length === bound.length) throw new Error('it has no such tag itself')
  await request('PATCH', `/workspaces/${id}/relationships/tag-bindings`, { data: rest.map(tagLinkage) })
}

/** Outcome for one workspace. */
export type Outcome = { id: string; name: string; failure: string | undefined }

const AT_ONCE = 4

/**
 * Acts on each workspace, a few at a time, and reports each outcome at once. After the signal no further one is
 * begun; what is under way ends.
 */
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
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
