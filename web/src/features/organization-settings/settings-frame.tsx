import { getRouteApi, useLocation } from '@tanstack/react-router'
import { NotFoundPage } from '../../components/feedback.tsx'
import { TitleScope } from '../../components/page.tsx'
import { SectionLayout } from '../../components/section-layout.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { SETTINGS_SECTIONS } from './settings-sections.ts'

const route = getRouteApi('/frame/app/$organization')

export function SettingsFrame() {
  const params = route.useParams()
  const permissions = useOrganizationPermissions(params.organization)
  const address = useLocation({ select: ({ pathname }) => pathname })
  const isAllowed = SETTINGS_SECTIONS.every(
    ({ path, permission }) =>
      !permission || !permissions || permissions[permission] || !address.endsWith(`/settings${path}`),
  )
  const shown = SETTINGS_SECTIONS.filter(({ permission }) => !permission || permissions?.[permission])
  const sections = shown.map(({ text, path }) => ({
    text,
    isExact: path === '',
    link: { to: `/app/$organization/settings${path}`, params },
  }))
  return (
    <TitleScope value={`${params.organization} settings`}>
      <SectionLayout label="Organization settings" sections={sections}>
        {!isAllowed && <NotFoundPage title="Settings not found">Only owners see this page.</NotFoundPage>}
      </SectionLayout>
    </TitleScope>
  )
}
