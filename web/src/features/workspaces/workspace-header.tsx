import { Link, getRouteApi } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { type ReactNode, Suspense, lazy } from 'react'
import { includedOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { NoRun, RunBadges, RunStatus, runState } from '../runs/run-status.tsx'
import { waitingReason } from '../runs/run-text.ts'
import { WorkspaceDescription } from './workspace-description.tsx'
import { LockActions, LockLine } from './workspace-lock.tsx'
import { type WorkspaceAttributes, useOpenWorkspace } from './workspace.ts'

const StartRunDialog = lazy(async () => ({
  default: (await import('../runs/new-run/new-run-dialog.tsx')).NewRunDialog,
}))
const route = getRouteApi('/frame/app/$organization/workspaces/$workspace')

const TABS: readonly [text: string, path: string, needs?: keyof WorkspaceAttributes['permissions']][] = [
  ['Overview', ''],
  ['Runs', '/runs', 'can-read-run'],
  ['States', '/states', 'can-read-state-versions'],
  ['Variables', '/variables', 'can-read-variable'],
  ['Tasks', '/tasks'],
  ['Triggers', '/triggers', 'can-read-run'],
  ['Access', '/access'],
  ['Settings', '/settings', 'can-read-settings'],
]

/** The name of a workspace with its state, its lock and what one can do with it, above its tabs. */
export function WorkspaceHeader({ children }: { children: ReactNode }) {
  const { organization, document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const { name, permissions, 'waiting-reason': waiting } = attributes
  const run = includedOf(document).one('runs', relationships['current-run'])
  const { start } = route.useSearch()
  const navigate = route.useNavigate()
  // Back does not open again what was closed.
  const setStart = (isOpen: boolean) =>
    void navigate({ to: '.', search: (before) => ({ ...before, start: isOpen || undefined }), replace: !isOpen })
  const tabs = TABS.filter(([, , needs]) => needs === undefined || permissions[needs]).map(([text, path]) => ({
    text,
    isExact: path === '',
    link: { to: `/app/$organization/workspaces/$workspace${path}`, params: { organization, workspace: name } },
  }))

  return (
    <Page
      title={name}
      documentTitle={run ? `${name} · run ${runState(run.attributes).text}` : name}
      badge={
        run ? (
          <>
            <Link
              to="/app/$organization/workspaces/$workspace/runs/$run"
              params={{ organization, workspace: name, run: run.id }}
            >
              <RunStatus run={run.attributes} isBadge />
            </Link>
            <RunBadges run={run.attributes} />
          </>
        ) : (
          permissions['can-read-run'] && <NoRun hasPlans={relationships['latest-run'].data !== null} />
        )
      }
      about={<WorkspaceDescription />}
      actions={
        <>
          <LockActions />
          {permissions['can-queue-run'] && (
            <Button
              kind="primary"
              icon={Play}
              reason={
                attributes['execution-mode'] === 'local'
                  ? 'runs of this workspace execute in the CLI: its execution mode is local'
                  : undefined
              }
              onClick={() => setStart(true)}
            >
              New run
            </Button>
          )}
        </>
      }
    >
      <div className="-mt-3 mb-4 space-y-3">
        <LockLine />
        {waiting && <Notice tone="warn">{waitingReason(waiting)}</Notice>}
      </div>
      <Tabs label="Parts of the workspace" tabs={tabs} />
      <div className="mt-4">{children}</div>
      {permissions['can-queue-run'] && start && (
        <Suspense>
          <StartRunDialog workspace={workspace} isOpen onClose={() => setStart(false)} />
        </Suspense>
      )}
    </Page>
  )
}
