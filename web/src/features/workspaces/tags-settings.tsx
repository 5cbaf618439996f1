import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { useQuery } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { getData } from '../../api/client.ts'
import { includedOf, useChange } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { loaded } from '../../components/feedback.tsx'
import { TextField } from '../../components/form.tsx'
import { SettingsForm, errorAt } from '../../components/settings-form.tsx'
import { Badge } from '../../components/status.tsx'
import { replaceTags } from './bulk-actions.ts'
import { type Tag, tagLabel, tagText } from './tag-filter.ts'
import { useOpenWorkspace } from './workspace.ts'

export function TagsSettings() {
  const { document, workspace } = useOpenWorkspace()
  const { data: tags, fallback } = loaded(useOwnTags(workspace.id), { rows: 2 })
  const inherited = includedOf(document)
    .many('effective-tag-bindings', workspace.relationships['effective-tag-bindings'])
    .filter(({ relationships }) => relationships?.['inherited-from'] !== undefined)
    .map(({ attributes }) => attributes)
  if (!tags) return <Card title="Tags">{fallback}</Card>
  if (workspace.attributes.permissions['can-manage-tags']) return <TagsForm saved={tags} inherited={inherited} />
  return (
    <Card title="Tags">
      <TagList tags={[...tags, ...inherited]} />
    </Card>
  )
}

function TagList({ tags }: { tags: readonly Tag[] }) {
  if (tags.length === 0) return <p className="text-dim">None.</p>
  return (
    <ul className="flex flex-wrap gap-1.5">
      {tags.map((tag) => (
        <li key={tag.key}>
          <Badge text={tagLabel(tag)} />
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
  const [error, setError] = useState<Error | null>(null)
  const rows = edited ?? saved.map((tag, id) => ({ ...tag, id }))
  // Rows without a key are not sent.
  const complete = rows.filter(({ key }) => key.trim() !== '')
  const tags = complete.map(({ key, value }) => ({ key: key.trim(), value: value.trim() }))
  const isDirty = edited !== undefined && texts(tags) !== texts(saved)
  const change = (id: number, part: Partial<Tag>) =>
    setEdited(rows.map((row) => (row.id === id ? { ...row, ...part } : row)))

  return (
    <SettingsForm
      title="Tags"
      about="Tags group workspaces: filter lists by them, or select workspaces by tags in a cloud block."
      names={[/^\/data\/\d+\/attributes/]}
      draft={{ isDirty, reset: () => setEdited(undefined), error, setError }}
      onSave={async () => replace.mutateAsync({ saved, tags })}
      done="Tags saved"
    >
      <div className="space-y-2">
        {rows.map((row, index) => (
          <div key={row.id} className="flex items-start gap-2">
            {(['key', 'value'] as const).map((part) => (
              <div key={part} className="min-w-0 flex-1">
                <TextField
                  label={`${part === 'key' ? 'Key' : 'Value'} of tag ${index + 1}`}
                  isLabelHidden
                  placeholder={part === 'key' ? 'Key' : 'Value (optional)'}
                  value={row[part]}
                  onChange={({ target }) => change(row.id, { [part]: target.value })}
                  error={errorAt(error, `/data/${complete.indexOf(row)}/attributes/${part}`)}
                />
              </div>
            ))}
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
          label="Add tag"
          size="small"
          icon={Plus}
          onClick={() =>
            setEdited([...rows, { key: '', value: '', id: Math.max(-1, ...rows.map(({ id }) => id)) + 1 }])
          }
        />
        {inherited.length > 0 && (
          <div className="flex flex-wrap items-center gap-2 text-dim">
            Inherited from the project: <TagList tags={inherited} />
          </div>
        )}
      </div>
    </SettingsForm>
  )
}

function texts(tags: readonly Tag[]) {
  return tags.map(tagText).toSorted().join('\n')
}

/** The tags of the workspace itself, without those of its project. */
function useOwnTags(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'tags'],
    queryFn: async () => {
      const data = await getData<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${workspaceId}/tag-bindings`)
      return data.map(({ attributes: { key, value } }): Tag => ({ key, value }))
    },
  })
}

function useReplaceTags(organization: string, workspaceId: string) {
  return useChange(
    async ({ saved, tags }: Record<'saved' | 'tags', readonly Tag[]>) => replaceTags(workspaceId, saved, tags),
    ['workspaces', workspaceId, 'tags'],
    ['workspaces', organization],
  )
}
