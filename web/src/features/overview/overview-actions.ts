import { FileInput, FlaskConical, ListChecks, type LucideIcon, Plus, Upload } from 'lucide-react'
import { request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import type { Target } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import type { OrganizationPermissions } from '../organizations/organizations.ts'
import { setGuideChoice } from './guide-choice.ts'

/** `id` has the text and search terms. */
type OverviewAction = { id: string; icon: LucideIcon; text: string; link: Target; onSelect?: () => void }

/** The actions of an organization that start something new, for the palette. */
export function overviewActions(
  organization: string,
  permissions: OrganizationPermissions | undefined,
): readonly OverviewAction[] {
  const params = { organization }
  const overview = { to: '/app/$organization', params }
  const dialog = (name: string) => ({ to: '/app/$organization/workspaces', params, search: { [name]: true } })
  const sample: OverviewAction = {
    id: 'Create sample project example demo tutorial',
    icon: FlaskConical,
    text: 'Create sample project',
    link: overview,
    onSelect: () =>
      void createSample(organization).then(
        () => toast({ text: 'Sample project created' }),
        ({ message }: Error) => toast({ text: message, tone: 'bad' }),
      ),
  }
  return [
    {
      id: 'Show Get started first steps guide help',
      icon: ListChecks,
      text: 'Show “Get started”',
      link: overview,
      onSelect: () => setGuideChoice(organization, 'shown'),
    },
    { id: 'New workspace create', icon: Plus, text: 'New workspace', link: dialog('new') },
    {
      id: 'Upload configuration folder archive first run without CLI',
      icon: Upload,
      text: 'Upload configuration',
      link: dialog('upload'),
    },
    { id: 'Import state tfstate migrate', icon: FileInput, text: 'Import state', link: dialog('import') },
    ...(permissions && mayCreateSample(permissions) ? [sample] : []),
  ]
}

/** Whether the user may create and remove the sample project, which requires the permissions for all of its parts. */
export function mayCreateSample(permissions: OrganizationPermissions) {
  return (
    permissions['can-create-project'] &&
    permissions['can-create-workspace'] &&
    permissions['can-manage-varsets'] &&
    permissions['can-manage-run-tasks']
  )
}

/** Creates the sample project, or its deleted parts. */
export async function createSample(organization: string) {
  await request('POST', `/organizations/${organization}/actions/make-sample`)
  await invalidate(['overview', organization])
}
