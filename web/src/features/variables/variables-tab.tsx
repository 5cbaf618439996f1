import { getRouteApi } from '@tanstack/react-router'
import { ClipboardPaste, Pencil, Plus, Variable as VariableIcon } from 'lucide-react'
import { useState } from 'react'
import { sendAndRefetch } from '../../api/queries.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { CollapsedText } from '../../components/collapsed-text.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CodeBlock, CopyButton, copyText } from '../../components/copy.tsx'
import { EmptyState, Notice, loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { Menu } from '../../components/menu.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { ImportDialog } from './import-dialog.tsx'
import { VariableForm } from './variable-form.tsx'
import type { Category, WorkspaceVariable } from './variables.ts'
import { envText, tfvarsText, useVariables } from './variables.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/variables')

const CATEGORIES = {
  terraform: { title: 'Terraform variables', about: 'Values of the variables that the configuration declares.' },
  env: { title: 'Environment variables', about: 'Read by the engine and its providers.' },
} as const satisfies Record<Category, unknown>

export function VariablesTab() {
  const { workspace } = useOpenWorkspace()
  const { permissions, name } = workspace.attributes
  usePageTitle(`Variables · ${name}`)
  if (!permissions['can-read-variable']) {
    return (
      <EmptyState icon={VariableIcon} title="You don’t have access to the variables">
        <p>An administrator of the workspace can grant it.</p>
      </EmptyState>
    )
  }
  return <Variables workspaceId={workspace.id} mayChange={permissions['can-update-variable']} />
}

function Variables({ workspaceId, mayChange }: { workspaceId: string; mayChange: boolean }) {
  const { q = '', edit } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useVariables(workspaceId))
  const [isImporting, setIsImporting] = useState(false)
  // Closing replaces the history entry, so that Back does not reopen the form.
  const open = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, edit: id }), replace: id === undefined })

  if (!data) return fallback
  const shown = data.filter((one) => matches(one, q))
  const own = data.filter(({ set }) => set === undefined)
  const ownVariables = own.map(({ variable }) => variable)
  const close = () => open(undefined)

  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search variables"
          value={q}
          onChange={(text) =>
            void navigate({ search: (before) => ({ ...before, q: text || undefined }), replace: true })
          }
        />
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
            <Button label="Add variable" kind="primary" icon={Plus} onClick={() => open('new')} />
          </>
        )}
      </div>
      {mayChange && edit === 'new' && (
        <VariableForm workspaceId={workspaceId} variable={undefined} others={own} onClose={close} />
      )}
      {data.length === 0 && edit !== 'new' && <NoVariables />}
      {data.length > 0 && shown.length === 0 && (
        <Notice>No variable contains “{q}” in its name, value or description.</Notice>
      )}
      {(['terraform', 'env'] as const).map((category) => {
        const rows = shown.filter(({ variable }) => variable.attributes.category === category)
        return rows.length === 0 ? null : (
          <section key={category} aria-label={CATEGORIES[category].title}>
            <h2 className="text-base font-medium">{CATEGORIES[category].title}</h2>
            <p className="mb-2 text-dim">{CATEGORIES[category].about}</p>
            <ul className="divide-y divide-line rounded-lg border border-line bg-paper">
              {rows.map((one) => (
                <li key={one.id}>
                  {mayChange && edit === one.id && one.set === undefined ? (
                    <VariableForm workspaceId={workspaceId} variable={one.variable} others={own} onClose={close} />
                  ) : (
                    <VariableRow {...{ workspaceId, mayChange, ...one }} onEdit={() => open(one.id)} />
                  )}
                </li>
              ))}
            </ul>
          </section>
        )
      })}
      <ImportDialog
        workspaceId={workspaceId}
        existing={own}
        isOpen={isImporting}
        onClose={() => setIsImporting(false)}
      />
    </div>
  )
}

const SCOPES = {
  workspace: 'applies to this workspace',
  project: 'applies to the project',
  global: 'applies to all workspaces of its owner',
} as const

type VariableRowProps = WorkspaceVariable & { workspaceId: string; mayChange: boolean; onEdit: () => void }

function VariableRow({ workspaceId, mayChange, onEdit, ...row }: VariableRowProps) {
  const { variable, set, overwriter, overwritten } = row
  const { key, hcl, sensitive, description, value } = variable.attributes
  const isOverwritten = overwriter !== undefined
  return (
    <div className="grid gap-x-4 gap-y-1 px-4 py-2.5 md:grid-cols-[minmax(10rem,2fr)_3fr_minmax(9.5rem,auto)]">
      <div className="min-w-0">
        <span className={`font-mono font-medium ${isOverwritten ? 'text-dim line-through' : ''}`}>{key}</span>
        <span className="ml-2 inline-flex flex-wrap gap-1 align-middle">
          {hcl && <Badge text="HCL" />}
          {sensitive && <Badge tone="warn" text="sensitive" />}
          {set && (
            <Badge tone="busy" title={SCOPES[set.scope]} text={`set ${set.name}${set.priority ? ', priority' : ''}`} />
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
          <>
            <IconButton label={`Edit ${key}`} icon={Pencil} size="small" onClick={onEdit} />
            <Confirm
              label="Delete"
              size="small"
              kind="danger"
              title={`Delete ${key}?`}
              consequence={consequenceOf(row)}
              action={`Delete ${key}`}
              done={`${key} deleted`}
              onConfirm={async () =>
                sendAndRefetch('DELETE', `/workspaces/${workspaceId}/vars/${variable.id}`, ['vars', workspaceId])
              }
            />
          </>
        )}
      </div>
    </div>
  )
}

function sourceOf({ set }: WorkspaceVariable) {
  return set ? `variable set “${set.name}”` : 'the workspace variable'
}

function consequenceOf({ variable, overwriter, overwritten: [next] }: WorkspaceVariable) {
  const lost = variable.attributes.sensitive ? ' Its value can’t be recovered.' : ''
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

function NoVariables() {
  return (
    <EmptyState icon={VariableIcon} title="No variables yet">
      <p>Runs receive these variables and those of applicable variable sets.</p>
      <div className="grid gap-3 text-left sm:grid-cols-2">
        <div>
          <p className="mb-1">Terraform variables, as in a .tfvars file:</p>
          <CodeBlock label="the .tfvars example" code={'region = "eu-west-1"\nzones  = ["a", "b"]'} />
        </div>
        <div>
          <p className="mb-1">Environment variables, as in a .env file:</p>
          <CodeBlock label="the .env example" code={'AWS_REGION=eu-west-1\nTF_LOG=info'} />
        </div>
      </div>
    </EmptyState>
  )
}
