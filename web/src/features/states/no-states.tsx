import { Database } from 'lucide-react'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { ConnectCli } from '../workspaces/connect-cli.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'

/** What a workspace without a state needs. */
export function NoStates() {
  const { organization, workspace } = useOpenWorkspace()
  const { name, 'execution-mode': mode } = workspace.attributes
  return (
    <EmptyState icon={Database} title="No states yet">
      <p>The first apply stores the first state. Each later one is kept with all before it.</p>
      <div className="space-y-4 text-left">
        <ConnectCli organization={organization} workspace={name} isLocal={mode === 'local'} />
        <p>
          With a state in a local file or another backend, <code>terraform init</code> asks to copy it here once the
          block is there. A file from elsewhere is stored by
        </p>
        <CodeBlock label="the command that stores a file" code="terraform state push terraform.tfstate" />
      </div>
    </EmptyState>
  )
}
