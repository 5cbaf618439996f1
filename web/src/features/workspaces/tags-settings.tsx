import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { ApiError, get, request } from '../../api/client.ts'
import { failureOf, includedOf } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { TextField } from '../../components/form.tsx'
import { Badge } from '../../components/status.tsx'
import { SettingsForm } from './settings-form.tsx'
import { type Tag, tagText } from './tag-filter.ts'
import { useOpenWorkspace } from './workspace.ts'

/** The tags of the workspace and of its project, with their values. */
export function TagsSettings() {
  const { document, workspace } = useOpenWorkspace()
  const tags = useOwnTags(workspace.id)
  const inherited = includedOf(document)
    .many('effective-tag-bindings', workspace.relationships['effective-tag-bindings'])
    .filter(({ relationships }) => relationships?.['inherited-from'] !== undefined)
    .map(({ attributes }) => attributes)
  const failure = failureOf(tags)
  if (failure || !tags.data)
    return <Card title="Tags">{failure ? <ErrorNote {...failure} /> : <Skeleton rows={2} />}</Card>
  if (!workspace.attributes.permissions['can-manage-tags'])
    return (
      <Card title="Tags">
        <TagList tags={[...tags.data, ...inherited]} />
      </Card>
    )
  return <TagsForm saved={tags.data} inherited={inherited} />
}

function TagList({ tags }: { tags: readonly Tag[] }) {
  if (tags.length === 0) return <p className="text-dim">None.</p>
  return (
    <ul className="flex flex-wrap gap-1.5">
      {tags.map((tag) => (
        <li key={tag.key}>
          <Badge>{tag.value === '' ? tag.key : `${tag.key}: ${tag.value}`}</Badge>
        </li>
      ))}
    </ul>
  )
}

type Row = Tag & { id: number }

function TagsForm({ saved, inherited }: { saved: readonly Tag[]; inherited: readonly Tag[] }) {
  const { organization, workspace } = useOpenWorkspace()
  const replace = useReplaceTags(organization, workspace.id)
  const [edited, setEdited] = useState<readonly Row[]>()
  const rows = edited ?? saved.map((tag, id) => ({ ...tag, id }))
  const kept = rows
    .filter(({ key }) => key.trim() !== '')
    .map(({ key, value }) => ({ key: key.trim(), value: value.trim() }))
  const isDirty = edited !== undefined && texts(kept) !== texts(saved)
  // Rows without a key are not sent.
  const placeOf = (index: number) => rows.slice(0, index).filter(({ key }) => key.trim() !== '').length
  const change = (id: number, part: Partial<Tag>) =>
    setEdited(rows.map((row) => (row.id === id ? { ...row, ...part } : row)))

  return (
    <SettingsForm
      title="Tags"
      about="They group workspaces: lists are filtered by them, and a cloud block can name workspaces by tags."
      names={[]}
      placed={/^\/data\/\d+\/attributes/}
      isDirty={isDirty}
      onSave={async () => {
        await replace.mutateAsync(kept)
        setEdited(undefined)
      }}
      onReset={() => setEdited(undefined)}
      done="The tags are saved"
    >
      {(error) => (
        <div className="space-y-2">
          {rows.map((row, index) => (
            <div key={row.id} className="flex items-start gap-2">
              <div className="min-w-0 flex-1">
                <TextField
                  label={`Key of tag ${index + 1}`}
                  isLabelHidden
                  placeholder="Key"
                  value={row.key}
                  onChange={({ target }) => change(row.id, { key: target.value })}
                  error={tagError(error, placeOf(index), 'key')}
                />
              </div>
              <div className="min-w-0 flex-1">
                <TextField
                  label={`Value of tag ${index + 1}`}
                  isLabelHidden
                  placeholder="Value (optional)"
                  value={row.value}
                  onChange={({ target }) => change(row.id, { value: target.value })}
                  error={tagError(error, placeOf(index), 'value')}
                />
              </div>
              <div className="pt-1">
                <IconButton
                  label={`Remove tag ${row.key || index + 1}`}
                  icon={X}
                  onClick={() => setEdited(rows.filter(({ id }) => id !== row.id))}
                />
              </div>
            </div>
          ))}
          <Button
            size="small"
            icon={Plus}
            onClick={() =>
              setEdited([...rows, { key: '', value: '', id: Math.max(-1, ...rows.map(({ id }) => id)) + 1 }])
            }
          >
            Add a tag
          </Button>
          {inherited.length > 0 && (
            <div className="flex flex-wrap items-center gap-2 text-dim">
              From the project: <TagList tags={inherited} />
            </div>
          )}
        </div>
      )}
    </SettingsForm>
  )
}

function texts(tags: readonly Tag[]) {
  return tags.map(tagText).toSorted().join('\n')
}

function tagError(error: Error | null, place: number, part: 'key' | 'value') {
  if (!(error instanceof ApiError)) return undefined
  return error.refusals.find(({ pointer }) => pointer === `/data/${place}/attributes/${part}`)?.detail
}

/** The tags that the workspace has itself, without those of its project. */
function useOwnTags(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'tags'],
    queryFn: async () => {
      const { data } = await get<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${workspaceId}/tag-bindings`)
      return data.map(({ attributes: { key, value } }): Tag => ({ key, value }))
    },
  })
}

/** Replaces the tags of the workspace. */
function useReplaceTags(organization: string, workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (tags: readonly Tag[]) =>
      request('PATCH', `/workspaces/${workspaceId}/relationships/tag-bindings`, {
        data: tags.map((attributes) => ({ type: 'tag-bindings', attributes })),
      }),
    onSuccess: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'tags'] }),
        queries.invalidateQueries({ queryKey: ['workspaces', organization] }),
      ]),
  })
}
