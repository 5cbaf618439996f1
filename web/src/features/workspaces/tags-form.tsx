import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { TextField } from '../../components/form.tsx'
import { SettingsForm, errorAt } from '../../components/settings-form.tsx'
import { TagBadge } from '../../components/status.tsx'
import { type Tag, tagLabel, tagText } from './tag-filter.ts'

export function TagList({ tags }: { tags: readonly Tag[] }) {
  if (tags.length === 0) return <p className="text-dim">None.</p>
  return (
    <ul className="flex flex-wrap gap-1.5">
      {tags.map((tag) => (
        <li key={tag.key}>
          <TagBadge text={tagLabel(tag)} />
        </li>
      ))}
    </ul>
  )
}

type Row = Tag & { id: number }

type TagsFormProps = {
  about: string
  saved: readonly Tag[]
  inherited?: readonly Tag[]
  onSave: (tags: readonly Tag[]) => Promise<unknown>
}

/** The tags of a workspace or a project. */
export function TagsForm({ about, saved, inherited, onSave }: TagsFormProps) {
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
      about={about}
      names={[/^\/data\/\d+\/attributes/]}
      draft={{ isDirty, reset: () => setEdited(undefined), error, setError }}
      onSave={async () => onSave(tags)}
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
        {inherited && inherited.length > 0 && (
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
