import { Pencil, Plus, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card, CardList } from '../../components/card.tsx'
import { loaded } from '../../components/feedback.tsx'
import { CheckField, TextField, fieldError } from '../../components/form.tsx'
import { InlineForm, useFocusOnClose, useRowForm } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { type ReservedTagKey, removeReservedKey, useReservedTagKeys, useSaveReservedKey } from './tags.ts'

type ReservedKeysProps = {
  organization: string
  mayManage: boolean
  /** Whether the form of a new key is open. */
  isNew: boolean
  onNew: (open: boolean) => void
}

export function ReservedKeys({ organization, mayManage, isNew, onNew }: ReservedKeysProps) {
  const { data, fallback } = loaded(useReservedTagKeys(organization), { rows: 2 })
  const opener = useRef<HTMLButtonElement>(null)
  useFocusOnClose(isNew ? 'new' : undefined, () => opener.current?.focus())
  return (
    <Card
      title="Reserved tag keys"
      about="A reserved key belongs to the projects: the value that a project sets for it can be protected from changes in its workspaces."
      isFlush
      actions={
        mayManage &&
        !isNew && <Button ref={opener} label="Reserve key" icon={Plus} size="small" onClick={() => onNew(true)} />
      }
    >
      {isNew && mayManage && (
        <div className="border-t border-line px-4 py-3">
          <KeyForm organization={organization} reserved={undefined} onClose={() => onNew(false)} />
        </div>
      )}
      {data ? (
        <CardList items={data} none="No reserved keys.">
          {(reserved) => <KeyRow key={reserved.id} {...{ organization, mayManage, reserved }} />}
        </CardList>
      ) : (
        <div className="px-4 pb-4">{fallback}</div>
      )}
    </Card>
  )
}

type KeyRowProps = { organization: string; mayManage: boolean; reserved: ReservedTagKey }

function KeyRow({ organization, mayManage, reserved }: KeyRowProps) {
  const { isOpen, open, close, place } = useRowForm()
  const { key, 'disable-overrides': isFixed } = reserved.attributes
  return (
    <li className="px-4 py-2">
      {isOpen ? (
        <KeyForm organization={organization} reserved={reserved} onClose={close} />
      ) : (
        <div className="flex flex-wrap items-center gap-2">
          <Badge text={key} />
          <span className="min-w-0 flex-1 text-dim">
            {isFixed ? 'Workspaces use the value of their project.' : 'Workspaces may set another value.'}
          </span>
          {mayManage && (
            <div ref={place}>
              <RowMenu
                label={`Actions for ${key}`}
                actions={[
                  { text: 'Edit', icon: Pencil, onSelect: open },
                  {
                    text: 'Remove',
                    icon: Trash2,
                    confirm: {
                      title: `Remove the reservation of ${key}?`,
                      consequence: 'Tags with this key remain, and workspaces may set their own value.',
                      action: 'Remove reservation',
                      done: `${key} is no longer reserved`,
                      onConfirm: async () => removeReservedKey(organization, reserved.id),
                    },
                  },
                ]}
              />
            </div>
          )}
        </div>
      )}
    </li>
  )
}

type KeyFormProps = { organization: string; reserved: ReservedTagKey | undefined; onClose: () => void }

function KeyForm({ organization, reserved, onClose }: KeyFormProps) {
  const [key, setKey] = useState(reserved?.attributes.key ?? '')
  const [isFixed, setIsFixed] = useState(reserved?.attributes['disable-overrides'] ?? true)
  const save = useSaveReservedKey(organization)
  return (
    <InlineForm
      action={reserved ? 'Save' : 'Reserve key'}
      mutation={save}
      names={['key', 'disable-overrides']}
      onCancel={onClose}
      onSubmit={() => {
        const onSuccess = () => {
          toast({ text: reserved ? 'Reserved key saved' : `${key} is reserved` })
          onClose()
        }
        save.mutate({ id: reserved?.id, key: key.trim(), 'disable-overrides': isFixed }, { onSuccess })
      }}
    >
      <TextField
        label="Key"
        value={key}
        onChange={({ target }) => setKey(target.value)}
        error={fieldError(save.error, 'key')}
        maxLength={255}
        required
        autoFocus
        autoComplete="off"
      />
      <CheckField
        label="Protect project values"
        hint="Workspaces can’t set another value for a key that their project has."
        checked={isFixed}
        onChange={({ target }) => setIsFixed(target.checked)}
      />
    </InlineForm>
  )
}
