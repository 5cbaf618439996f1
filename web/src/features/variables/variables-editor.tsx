import { ClipboardPaste, Pencil, Plus, Trash2 } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CollapsedText } from '../../components/collapsed-text.tsx'
import { CopyButton, copyText } from '../../components/copy.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { useFocusOnClose } from '../../components/inline-form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Menu } from '../../components/menu.tsx'
import { Tooltip, toast } from '../../components/overlay-hosts.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { ImportDialog } from './import-dialog.tsx'
import { VariableForm } from './variable-form.tsx'
import {
  type Category,
  type VariableOwner,
  type WorkspaceVariable,
  deleteVariable,
  envText,
  tfvarsText,
  useVariables,
} from './variables.ts'

const CATEGORIES = {
  terraform: { title: 'Terraform variables', about: 'Values of the variables that the configuration declares.' },
  env: { title: 'Environment variables', about: 'Read by the engine and its providers.' },
} as const satisfies Record<Category, unknown>

/** `edit` is the id of the variable in the form, or `new`. */
type Search = { q?: string | undefined; edit?: string | undefined }
type VariablesEditorProps = {
  owner: VariableOwner
  mayChange: boolean
  /** Search parameters of the page. */
  search: Search
  onSearch: (change: Search, replace: boolean) => void
  empty: ReactNode
}

/** The variables of a workspace or a variable set: searched, added, edited, imported and copied. */
export function VariablesEditor({ owner, mayChange, search, onSearch, empty }: VariablesEditorProps) {
  const { q = '', edit } = search
  const { data, fallback } = loaded(useVariables(owner))
  const [isImporting, setIsImporting] = useState(false)
  // Closing replaces the history entry, so that Back does not reopen the form.
  const open = (id: string | undefined) => onSearch({ edit: id }, id === undefined)
  const root = useRef<HTMLDivElement>(null)
  useFocusOnClose(edit, (id) => root.current?.querySelector<HTMLElement>(`[data-opens="${id}"] button`)?.focus())

  if (!data) return fallback
  const shown = data.filter((one) => matches(one, q))
  const own = data.filter(({ set }) => set === undefined)
  const ownVariables = own.map(({ variable }) => variable)
  const close = () => open(undefined)

  return (
    <div ref={root} className="space-y-4">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField label="Search variables" value={q} onChange={(text) => onSearch({ q: text || undefined }, true)} />
        <span className="flex-1" />
        {own.length > 0 && (
          <Menu
            trigger={<Button label="Copy all" />}
            items={[
              { text: 'Terraform variables as .tfvars', onSelect: () => void copy(tfvarsText(ownVariables)) },
              { text: 'Environment variables as .env', onSelect: () => void copy(envText(ownVariables)) },
            ]}
          />
        )}
        {mayChange && (
          <>
            <Button label="Import" icon={ClipboardPaste} onClick={() => setIsImporting(true)} />
            <div data-opens="new">
              <Button label="Add variable" kind="primary" icon={Plus} onClick={() => open('new')} />
            </div>
          </>
        )}
      </div>
      {mayChange && edit === 'new' && <VariableForm owner={owner} variable={undefined} others={own} onClose={close} />}
      {data.length === 0 && edit !== 'new' && empty}
      {data.length > 0 && shown.length === 0 && (
        <Notice>No variable contains “{q}” in its name, value or description.</Notice>
      )}
      {(['terraform', 'env'] as const).map((category) => {
        const rows = shown.filter(({ variable }) => variable.attributes.category === category)
        return rows.length === 0 ? null : (
          <section key={category} aria-label={CATEGORIES[category].title}>
            <h2 className="text-base font-semibold">{CATEGORIES[category].title}</h2>
            <p className="mb-2 text-dim">{CATEGORIES[category].about}</p>
            <ul className="divide-y divide-line rounded-lg border border-line bg-paper">
              {rows.map((one) => (
                <li key={one.id}>
                  {mayChange && edit === one.id && one.set === undefined ? (
                    <VariableForm owner={owner} variable={one.variable} others={own} onClose={close} />
                  ) : (
                    <VariableRow {...{ owner, mayChange, ...one }} onEdit={() => open(one.id)} />
                  )}
                </li>
              ))}
            </ul>
          </section>
        )
      })}
      <ImportDialog owner={owner} existing={own} isOpen={isImporting} onClose={() => setIsImporting(false)} />
    </div>
  )
}

const SCOPES = {
  workspace: 'applies to this workspace',
  project: 'applies to the project',
  global: 'applies to all workspaces of its owner',
} as const

type VariableRowProps = WorkspaceVariable & { owner: VariableOwner; mayChange: boolean; onEdit: () => void }

function VariableRow({ owner, mayChange, onEdit, ...row }: VariableRowProps) {
  const { variable, set, overwriter, overwritten } = row
  const { key, hcl, sensitive, description, value } = variable.attributes
  const isOverwritten = overwriter !== undefined
  return (
    <div className="grid gap-x-4 gap-y-1 px-4 py-2.5 md:grid-cols-[minmax(10rem,2fr)_3fr_minmax(5rem,auto)]">
      <div className="min-w-0">
        <span className={`font-mono font-medium ${isOverwritten ? 'text-dim line-through' : ''}`}>{key}</span>
        <span className="ml-2 inline-flex flex-wrap gap-1 align-middle">
          {hcl && <Badge text="HCL" />}
          {sensitive && <Badge tone="warn" text="sensitive" />}
          {set && (
            <SetBadge organization={owner.organization} set={set} id={variable.relationships.varset?.data?.id ?? ''} />
          )}
        </span>
        {description !== '' && <p className="text-dim">{description}</p>}
        {isOverwritten && <p className="text-warn">Overridden by {sourceOf(overwriter)}.</p>}
        {overwritten.map((loser) => (
          <p key={loser.id} className="text-dim">
            Overrides {sourceOf(loser)}.
          </p>
        ))}
      </div>
      <div className={`min-w-0 ${isOverwritten ? 'opacity-80' : ''}`}>
        {value ? (
          <CollapsedText text={value} maxLines={6} />
        ) : (
          <span className="text-dim">{value === null ? 'write-only' : 'empty'}</span>
        )}
      </div>
      <div className="flex flex-wrap items-start justify-end gap-1">
        {value !== null && value !== '' && <CopyButton text={value} label={`Copy the value of ${key}`} />}
        {mayChange && !set && (
          <div data-opens={row.id}>
            <RowMenu
              label={`Actions for ${key}`}
              actions={[
                { text: 'Edit', icon: Pencil, onSelect: onEdit },
                {
                  text: 'Delete',
                  icon: Trash2,
                  confirm: {
                    title: `Delete ${key}?`,
                    consequence: consequenceOf(owner, row),
                    action: `Delete ${key}`,
                    done: `${key} deleted`,
                    onConfirm: async () => deleteVariable(owner, variable.id),
                  },
                },
              ]}
            />
          </div>
        )}
      </div>
    </div>
  )
}

type SetBadgeProps = { organization: string; set: NonNullable<WorkspaceVariable['set']>; id: string }

function SetBadge({ organization, set, id }: SetBadgeProps) {
  const target = { to: '/app/$organization/variable-sets/$set', params: { organization, set: id } }
  return (
    <Tooltip text={SCOPES[set.scope]}>
      <TargetLink leadsTo={target} className="hover:underline">
        <Badge tone="busy" text={`set ${set.name}${set.priority ? ', priority' : ''}`} />
      </TargetLink>
    </Tooltip>
  )
}

function sourceOf({ set }: WorkspaceVariable) {
  return set ? `variable set “${set.name}”` : 'the workspace variable'
}

function consequenceOf(owner: VariableOwner, { variable, overwriter, overwritten: [next] }: WorkspaceVariable) {
  const lost = variable.attributes.sensitive ? ' Its value can’t be recovered.' : ''
  if (owner.kind === 'set') return `The next runs of the workspaces won’t have it from this set.${lost}`
  if (overwriter) return `It is overridden, so runs are not affected.${lost}`
  return next ? `The next run uses the value of ${sourceOf(next)}.${lost}` : `The next run won’t have it.${lost}`
}

async function copy(text: string) {
  await copyText(text)
  toast({ text: 'Copied without sensitive values' })
}

function matches({ variable: { attributes }, set }: WorkspaceVariable, q: string) {
  const text = [attributes.key, attributes.value ?? '', attributes.description, set?.name ?? ''].join('\n')
  return text.toLowerCase().includes(q.toLowerCase())
}
