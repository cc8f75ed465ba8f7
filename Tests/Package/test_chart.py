"""The chart of ops/helm, rendered by Helm's own library (helm-python-sdk of PyPI) where it is installed."""

import importlib.util
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "ops" / "helm" / "futures-gateway"
PLAIN = ROOT / "ops" / "kubernetes" / "gateway.yaml"
HAS_HELM = all(importlib.util.find_spec(name) for name in ("helm_python", "yaml"))


def rendered(values):
    import helm_python
    import yaml

    with helm_python.Chart.load(CHART) as chart:
        documents = [yaml.safe_load(text) for text in chart.render(values, name="prices", namespace="default").values()]
    return {one["kind"]: one for one in documents if one}


class ChartTests(unittest.TestCase):
    def test_it_has_the_version_of_the_program(self):
        version = re.search(r'version = "(.*)"', (ROOT / "Sources" / "FuturesGateway" / "Gateway.swift").read_text())[1]
        self.assertIn(f'appVersion: "{version}"', (CHART / "Chart.yaml").read_text())

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_helm_finds_nothing_wrong(self):
        import helm_python

        self.assertNotIn("ERROR", str(helm_python.lint(CHART)))

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_it_deploys_what_the_manifest_deploys(self):
        import yaml

        plain = {one["kind"]: one for one in yaml.safe_load_all(PLAIN.read_text())}
        made = rendered({"image": {"tag": "latest"}})
        self.assertEqual(set(made), set(plain))
        own, theirs = (kinds["Deployment"]["spec"]["template"]["spec"] for kinds in (made, plain))
        own["containers"][0].pop("imagePullPolicy")
        own.pop("topologySpreadConstraints"), theirs.pop("topologySpreadConstraints")  # They name the release.
        self.assertEqual(own, theirs)
        labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
        for selector in (made["Service"]["spec"]["selector"], made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                         made["Deployment"]["spec"]["selector"]["matchLabels"]):
            self.assertEqual(selector, labels)

    @unittest.skipUnless(HAS_HELM, "helm-python-sdk and PyYAML are not installed")
    def test_a_setting_is_a_variable_of_the_program(self):
        container = rendered({"settings": {"FUTURES_GATEWAY_LINES": 1}})["Deployment"]["spec"]["template"]["spec"]["containers"][0]
        self.assertIn({"name": "FUTURES_GATEWAY_LINES", "value": "1"}, container["env"])


if __name__ == "__main__":
    unittest.main()
