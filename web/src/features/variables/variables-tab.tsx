import { getRouteApi } from '@tanstack/react-router'
import { ClipboardPaste, Plus, Variable as VariableIcon } from 'lucide-react'
import { useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock, copyText } from '../../components/copy.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { Menu } from '../../components/menu.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { usePageTitle } from '../../components/page.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { ImportDialog } from './import-dialog.tsx'
import { VariableForm } from './variable-form.tsx'
import { VariableRow } from './variable-row.tsx'
import { type Category, type Sourced, envText, tfvarsText, useVariables } from './variables.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/variables')

const CATEGORIES = {
  terraform: { title: 'Terraform variables', about: 'What the configuration declares as variable.' },
  env: { title: 'Environment variables', about: 'What the engine and its providers read from their environment.' },
} as const satisfies Record<Category, unknown>

/** The effective variables of the workspace's runs. */
export function VariablesTab() {
  const { workspace } = useOpenWorkspace()
  const { permissions, name } = workspace.attributes
  usePageTitle(`${name} · variables`)
  if (!permissions['can-read-variable']) {
    return (
      <EmptyState icon={VariableIcon} title="You may not read the variables of this workspace">
        <p>Who administers the workspace can give you access to them.</p>
      </EmptyState>
    )
  }
  return <Variables workspaceId={workspace.id} mayChange={permissions['can-update-variable']} />
}

function Variables({ workspaceId, mayChange }: { workspaceId: string; mayChange: boolean }) {
  const { q = '', edit } = route.useSearch()
  const navigate = route.useNavigate()
  const read = useVariables(workspaceId)
  const failure = failureOf(read)
  const { data } = read
  const [isImporting, setIsImporting] = useState(false)
  // Back does not open again what was closed.
  const open = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, edit: id }), replace: id === undefined })

  if (failure) return <ErrorNote {...failure} />
  if (!data) return <Skeleton />
  const shown = data.filter((one) => matches(one, q))
  const own = data.filter(({ set }) => set === undefined)

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
            trigger={<Button>Copy all</Button>}
            items={[
              {
                text: 'Terraform variables as .tfvars',
                onSelect: () => void copy(tfvarsText(own.map(({ variable }) => variable))),
              },
              {
                text: 'Environment variables as .env',
                onSelect: () => void copy(envText(own.map(({ variable }) => variable))),
              },
            ]}
          />
        )}
        {mayChange && (
          <>
            <Button icon={ClipboardPaste} onClick={() => setIsImporting(true)}>
              Paste or copy many
            </Button>
            <Button kind="primary" icon={Plus} onClick={() => open('new')}>
              Add a variable
            </Button>
          </>
        )}
      </div>
      {mayChange && edit === 'new' && (
        <VariableForm workspaceId={workspaceId} variable={undefined} others={own} onClose={() => open(undefined)} />
      )}
      {data.length === 0 && edit !== 'new' && <NoVariables />}
      {data.length > 0 && shown.length === 0 && (
        <Notice>No variable has “{q}” in its name, value or description.</Notice>
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
                    <VariableForm
                      workspaceId={workspaceId}
                      variable={one.variable}
                      others={own}
                      onClose={() => open(undefined)}
                    />
                  ) : (
                    <VariableRow
                      workspaceId={workspaceId}
                      sourced={one}
                      mayChange={mayChange}
                      onEdit={() => open(one.id)}
                    />
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

async function copy(text: string) {
  await copyText(text)
  toast({ text: 'Copied; sensitive values are not part of it' })
}

function matches({ variable: { attributes }, set }: Sourced, q: string) {
  const text = [attributes.key, attributes.value ?? '', attributes.description, set?.name ?? ''].join('\n')
  return text.toLowerCase().includes(q.toLowerCase())
}

function NoVariables() {
  return (
    <EmptyState icon={VariableIcon} title="No variables yet">
      <p>A run gets these variables and those of the organization’s and the project’s variable sets.</p>
      <div className="grid gap-3 text-left sm:grid-cols-2">
        <div>
          <p className="mb-1">Terraform variables, as in a .tfvars file:</p>
          <CodeBlock label="an example of a .tfvars file" code={'region = "eu-west-1"\nzones  = ["a", "b"]'} />
        </div>
        <div>
          <p className="mb-1">Environment variables, as in a .env file:</p>
          <CodeBlock label="an example of a .env file" code={'AWS_REGION=eu-west-1\nTF_LOG=info'} />
        </div>
      </div>
    </EmptyState>
  )
}
