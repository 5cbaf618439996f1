import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { Stage, workspaceTaskSchema } from '@groundstate/contract/run-tasks'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, invalidate, keepWithin } from '../../api/queries.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { RUN_TASKS } from './run-tasks.ts'
import { type Attachment, type Level, STAGE_NAMES, type WorkspaceTask } from './workspace-tasks.ts'

type WorkspaceResource = Wire<typeof workspaceSchema>
type AttachmentsPage = PageOnWire<typeof workspaceTaskSchema, typeof workspaceSchema>

/** A row of the matrix: a workspace, and the attachment of the task to it if any. */
export type AttachmentRow = { id: string; workspace: WorkspaceResource; attachment: WorkspaceTask | undefined }

type Search = { q?: string | undefined; page?: number | undefined; all?: true | undefined }

const PAGE_SIZE = 20

/** A page of the workspaces to which the task is attached, or of `all`. */
export function useAttachmentRows(organization: string, taskId: string, search: Search) {
  return useQuery({
    queryKey: [RUN_TASKS, organization, taskId, 'attachments', search],
    queryFn: async ({ signal }) =>
      search.all ? allRows(organization, taskId, search, signal) : attachedRows(taskId, search, signal),
    placeholderData: keepWithin(organization),
  })
}

async function attachedRows(taskId: string, { q, page }: Search, signal: AbortSignal) {
  const query = queryString({
    q,
    sort: 'workspace-name',
    include: 'workspace',
    'page[size]': PAGE_SIZE,
    'page[number]': page,
  })
  const document = await get<AttachmentsPage>(`/tasks/${taskId}/relationships/workspace-tasks${query}`, signal)
  const included = includedOf(document)
  const rows = document.data.flatMap((attachment): AttachmentRow[] => {
    const workspace = included.one('workspaces', attachment.relationships.workspace)
    return workspace ? [{ id: workspace.id, workspace, attachment }] : []
  })
  return { rows, pagination: document.meta.pagination }
}

async function allRows(organization: string, taskId: string, { q, page }: Search, signal: AbortSignal) {
  const query = queryString({ 'search[name]': q, 'page[size]': PAGE_SIZE, 'page[number]': page })
  const path = `/organizations/${organization}/workspaces${query}`
  const { data: workspaces, meta } = await get<PageOnWire<typeof workspaceSchema>>(path, signal)
  const ids = queryString({
    'filter[workspace][id]': workspaces.map(({ id }) => id).join(','),
    'page[size]': PAGE_SIZE,
  })
  const attached =
    workspaces.length === 0
      ? []
      : (await get<AttachmentsPage>(`/tasks/${taskId}/relationships/workspace-tasks${ids}`, signal)).data
  const rows = workspaces.map((workspace): AttachmentRow => {
    const attachment = attached.find(({ relationships }) => relationships.workspace.data?.id === workspace.id)
    return { id: workspace.id, workspace, attachment }
  })
  return { rows, pagination: meta.pagination }
}

/** The attachment after setting the level at a stage, which is that of all its stages; undefined if no stage is left. */
export function withStage(
  attachment: Attachment | undefined,
  stage: Stage,
  level: Level | undefined,
): Attachment | undefined {
  const stages = new Set<Stage>(attachment?.stages)
  if (level === undefined) stages.delete(stage)
  else stages.add(stage)
  if (stages.size === 0) return undefined
  return {
    stages: STAGE_NAMES.filter((name) => stages.has(name)),
    'enforcement-level': level ?? attachment?.['enforcement-level'] ?? 'advisory',
  }
}

type Saved = { id: string; attributes: Attachment } | undefined
type Place = { workspaceId: string; taskId: string }

/** Attaches the task, changes its attachment, or detaches it. Returns the attachment as saved. */
async function saveAttachment({ workspaceId, taskId }: Place, before: Saved, after: Attachment | undefined) {
  const path = `/workspaces/${workspaceId}/tasks`
  if (!after) {
    if (before) await request('DELETE', `${path}/${before.id}`)
    return undefined
  }
  const task = { data: { type: 'tasks', id: taskId } }
  const { data } = await (before
    ? request<DocumentOnWire<typeof workspaceTaskSchema>>('PATCH', `${path}/${before.id}`, {
        data: { type: 'workspace-tasks', attributes: after },
      })
    : request<DocumentOnWire<typeof workspaceTaskSchema>>('POST', path, {
        data: { type: 'workspace-tasks', attributes: after, relationships: { task } },
      }))
  return data
}

type Change = Place & { before: Saved; after: Attachment | undefined; done: string }

/** Saves a change of an attachment, with a toast to undo it. */
export async function changeAttachment({ before, after, done, ...place }: Change) {
  const refetch = async () => invalidate([RUN_TASKS], ['workspace-tasks', place.workspaceId])
  const previous = before && {
    stages: before.attributes.stages,
    'enforcement-level': before.attributes['enforcement-level'],
  }
  try {
    const saved = await saveAttachment(place, before, after)
    toast({
      text: done,
      undo: async () => {
        try {
          await saveAttachment(place, saved, previous)
        } finally {
          await refetch()
        }
      },
    })
  } finally {
    await refetch()
  }
}
