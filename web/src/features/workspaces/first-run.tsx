import { useNavigate } from '@tanstack/react-router'
import { Play, Terminal } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { CommandLineSteps } from './command-line-steps.tsx'
import { useOpenWorkspace } from './workspace.ts'

/** The way to a first run, for a workspace that has had none. */
export function FirstRun() {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = useNavigate()
  const { name, permissions, 'execution-mode': mode } = workspace.attributes
  const isLocal = mode === 'local'
  const hasConfiguration = workspace.relationships['current-configuration-version'].data !== null
  const start = () => void navigate({ to: '.', search: (before) => ({ ...before, start: true }) })
  return (
    <EmptyState
      icon={Terminal}
      title="No runs yet"
      actions={
        permissions['can-queue-run'] &&
        hasConfiguration &&
        !isLocal && (
          <Button icon={Play} onClick={start}>
            Start a run
          </Button>
        )
      }
    >
      <CommandLineSteps organization={organization} workspace={name} isLocal={isLocal} />
    </EmptyState>
  )
}
