import { getRouteApi } from '@tanstack/react-router'
import { Variable as VariableIcon } from 'lucide-react'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { VariablesEditor } from './variables-editor.tsx'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/variables')

export function VariablesTab() {
  const { organization, workspace } = useOpenWorkspace()
  const { permissions } = workspace.attributes
  const search = route.useSearch()
  const navigate = route.useNavigate()
  if (!permissions['can-read-variable']) {
    return (
      <EmptyState icon={VariableIcon} title="You don’t have access to the variables">
        <p>A workspace administrator can grant it.</p>
      </EmptyState>
    )
  }
  return (
    <VariablesEditor
      owner={{ kind: 'workspace', id: workspace.id, organization }}
      mayChange={permissions['can-update-variable']}
      search={search}
      onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
      empty={<NoVariables organization={organization} />}
    />
  )
}

function NoVariables({ organization }: { organization: string }) {
  const sets = { to: '/app/$organization/variable-sets', params: { organization } }
  return (
    <EmptyState icon={VariableIcon} title="No variables yet">
      <p>
        Runs receive these variables and those of applicable{' '}
        <TargetLink leadsTo={sets} className="text-accent underline">
          variable sets
        </TargetLink>
        .
      </p>
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
