// SPDX-License-Identifier: BSD-2-Clause
//
// The standard library's containers at work, some of which are never destroyed.
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct tree {
	std::unique_ptr<tree> left, right;
	std::string name;
};

static std::unique_ptr<tree> grow(int depth)
{
	auto t = std::make_unique<tree>();

	t->name = std::string(20 + depth, 'x');
	if (depth) {
		t->left = grow(depth - 1);
		t->right = grow(depth - 1);
	}
	return t;
}

static void words(std::map<std::string, std::vector<int>> &to, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		std::ostringstream name;

		name << "a name that is too long for the string itself " << i % 97;
		to[name.str()].push_back(i);
	}
}

int main()
{
	std::map<std::string, std::vector<int>> local;
	auto *left_map = new std::map<std::string, std::vector<int>>;
	auto *left_tree = new std::unique_ptr<tree>(grow(6));
	auto *shared = new std::shared_ptr<std::deque<int>>(new std::deque<int>(1000));
	std::unordered_map<int, std::list<int>> lists;

	words(local, 1000);
	words(*left_map, 300);
	grow(8);
	(*left_tree)->left.reset();
	for (int i = 0; i < 500; i++)
		lists[i % 50].push_front(i);
	auto copy = *shared;
	std::thread([&] { words(*left_map, 500); }).join();
	std::printf("%zu %zu %zu\n", local.size(), left_map->size(), copy->size());
	return 0;
}
