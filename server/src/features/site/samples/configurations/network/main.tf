# The sample needs no provider: terraform_data is built into Terraform and OpenTofu. It keeps values and creates nothing.
terraform {
  required_version = ">= 1.4"
}

locals {
  name = "sample-${var.environment}"
}

resource "terraform_data" "network" {
  input = {
    name        = local.name
    cidr        = "10.20.0.0/16"
    owner       = var.owner
    cost_center = var.cost_center
  }
}

module "subnet" {
  source   = "./modules/subnet"
  for_each = var.subnets

  name    = "${local.name}-${each.key}"
  subnet  = each.value
  network = terraform_data.network.output.name
}

module "firewall" {
  source = "./modules/firewall"

  network = terraform_data.network.output.name
  rules = {
    "ssh-from-office" = { port = 22, source = "192.0.2.0/24" }
    "https"           = { port = 443, source = "0.0.0.0/0" }
    "metrics"         = { port = 9100, source = "10.20.0.0/16" }
  }
}

# Another environment is another gateway: a change of the name replaces it.
resource "terraform_data" "gateway" {
  triggers_replace = [var.environment]
  input = {
    network  = terraform_data.network.output.name
    password = var.vpn_password
  }
}
