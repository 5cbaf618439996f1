# The sample needs no provider: terraform_data is built into Terraform and OpenTofu. It keeps values and creates nothing.
terraform {
  required_version = ">= 1.4"
}

# The outputs of the network. Its workspace shares them with this one.
data "terraform_remote_state" "network" {
  backend = "remote"

  config = {
    hostname     = "groundstate.local"
    organization = var.network.organization
    workspaces   = { name = var.network.workspace }
  }
}

locals {
  network = data.terraform_remote_state.network.outputs.name
  subnets = data.terraform_remote_state.network.outputs.subnets
}

module "service" {
  source   = "./modules/service"
  for_each = var.services

  name     = "${each.key}-${var.environment}"
  replicas = each.value
  network  = local.network
}

resource "terraform_data" "allow_list" {
  input = sort(values(local.subnets))
}
